-- Claims that expired with their attempts used up: the handler took the worker down each time.
-- $9 now
UPDATE processed_events
SET status = 'dead', processed_at = $9, lease_until = NULL,
    last_error = CASE status WHEN 'in_progress' THEN 'worker lost' ELSE coalesce(last_error, 'attempts used up') END
WHERE (event_id, handler) IN (SELECT event_id, handler FROM temp.pair WHERE lost);
