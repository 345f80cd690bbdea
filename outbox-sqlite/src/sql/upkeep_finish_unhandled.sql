-- Rows of types that no handler is listed for, still, are finished as the settings say. Those of foreign writers get an
-- id, by which an operator can name them. Through event_queue_available.
-- $1 now, $2 [type], $3 status, $4 most rows
UPDATE event_queue
SET status = $3, finished_at = $1, waits_for = '',
    event_id = coalesce(event_id, lower(
        hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-'
        || substr('89ab', 1 + (random() & 3), 1) || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6)))),
    last_error = CASE $3 WHEN 'dead_lettered' THEN 'no handler is listed for this type' ELSE last_error END
WHERE id IN (
    SELECT q.id
    FROM json_each($2) AS t
    CROSS JOIN event_queue AS q
    WHERE q.status = 'pending' AND q.event_type = t.value
      AND NOT EXISTS (SELECT 1 FROM outbox_handlers AS h WHERE q.event_type GLOB h.event_type)
    LIMIT $4
);
