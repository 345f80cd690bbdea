-- Rows that were found are finished as the settings say, if still nobody has them in hand and no handler is listed for
-- their type. Those of foreign writers get an id, by which an operator can name them. Through the rows' numbers.
-- $1 now, $2 claimed before, $3 [[row]], $4 status
UPDATE event_queue
SET status = $4, finished_at = $1, waits_for = '', claimed_at = NULL, claimed_by = NULL,
    event_id = coalesce(event_id, lower(
        hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-'
        || substr('89ab', 1 + (random() & 3), 1) || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))),
    last_error = CASE $4 WHEN 'dead_lettered' THEN 'no handler is listed for ' || event_type ELSE last_error END
WHERE id IN (SELECT value ->> 0 FROM json_each($3))
  AND (status = 'pending' OR (status = 'processing' AND (claimed_at IS NULL OR claimed_at <= $2)))
  AND NOT EXISTS (SELECT 1 FROM outbox_handlers AS h WHERE event_queue.event_type GLOB h.event_type);
