-- These waiting rows are due. Through the rows' numbers.
-- $1 now, $2 [row]
UPDATE event_queue SET available_at = min(available_at, $1)
WHERE status = 'pending' AND waits_for = '' AND id IN (SELECT value FROM json_each($2));
