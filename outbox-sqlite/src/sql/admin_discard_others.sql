-- Whatever else the ledger holds for events that go with their last dead letter has nothing to wait for. Through the
-- rows' numbers and the ledger's primary key.
-- $1 now, $2 [[row]]
UPDATE processed_events
SET status = 'done', processed_at = $1, lease_until = NULL, last_error = 'discarded: ' || coalesce(last_error, '')
WHERE status IN ('released', 'in_progress')
  AND event_id IN (
      SELECT q.event_id
      FROM json_each($2) AS found
      CROSS JOIN event_queue AS q ON q.id = found.value ->> 0
      WHERE q.status = 'dead_lettered'
        AND NOT EXISTS (SELECT 1 FROM processed_events AS p WHERE p.event_id = q.event_id AND p.status = 'dead')
  );
