-- Dead-lettered events with no dead letter left are deleted; their ledger rows stay. Through the rows' numbers.
-- $1 [[row]]
DELETE FROM event_queue
WHERE status = 'dead_lettered' AND id IN (SELECT value ->> 0 FROM json_each($1))
  AND NOT EXISTS (
      SELECT 1 FROM processed_events AS p WHERE p.event_id = event_queue.event_id AND p.status = 'dead'
  );
