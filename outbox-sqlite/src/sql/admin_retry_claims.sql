-- The handlers are due, with all of their attempts. Through the primary key.
-- $1 now, $2 [[row, event_id, handler]]
UPDATE processed_events
SET status = 'released', attempts = 0, lease_until = $1, processed_at = NULL
WHERE status = 'dead' AND (event_id, handler) IN (SELECT value ->> 1, value ->> 2 FROM json_each($2));
