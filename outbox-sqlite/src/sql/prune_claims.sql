-- Deletes ledger rows that were found, if their event still cannot come back. Through the primary key.
-- $1 finished or due before, $2 [[event_id, handler]]
DELETE FROM processed_events
WHERE (event_id, handler) IN (SELECT value ->> 0, value ->> 1 FROM json_each($2))
  AND ((status IN ('done', 'dead') AND processed_at <= $1) OR (status = 'released' AND lease_until <= $1))
  AND NOT EXISTS (
      SELECT 1 FROM event_queue AS q WHERE q.event_id = processed_events.event_id AND q.status <> 'done'
  );
