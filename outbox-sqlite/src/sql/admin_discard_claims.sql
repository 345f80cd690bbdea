-- To the ledger the handlers have finished, so that a late delivery runs nothing. Through the primary key.
-- $1 now, $2 [[row, event_id, handler]]
UPDATE processed_events
SET status = 'done', processed_at = $1, last_error = 'discarded: ' || coalesce(last_error, '')
WHERE status = 'dead' AND (event_id, handler) IN (SELECT value ->> 1, value ->> 2 FROM json_each($2));
