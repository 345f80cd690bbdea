-- A retired handler is due for nothing any more. Through the primary key.
-- $1 handler, $2 [[row, event_id]]
DELETE FROM processed_events
WHERE handler = $1 AND status = 'released' AND event_id IN (SELECT value ->> 1 FROM json_each($2));
