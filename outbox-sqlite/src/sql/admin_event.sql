-- One event, through event_queue_event_id. A foreign writer's id may stand in another form until the row is claimed.
-- $1 event_id
SELECT id, event_type, event_version, event_key, status, payload, headers, waits_for, available_at, claimed_at,
       created_at, finished_at, last_error,
       EXISTS (SELECT 1 FROM outbox_handlers AS h WHERE event_queue.event_type GLOB h.event_type) AS is_listed
FROM event_queue
WHERE event_id IN ($1, upper($1), replace($1, '-', ''), upper(replace($1, '-', '')), '{' || $1 || '}')
ORDER BY event_id = $1 DESC
LIMIT 1;
