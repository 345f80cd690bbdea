-- One event, through event_queue_event_id.
-- $1 event_id
SELECT id, event_type, event_version, event_key, status, payload, headers, waits_for, available_at, claimed_at,
       created_at, finished_at, last_error,
       EXISTS (SELECT 1 FROM outbox_handlers AS h WHERE event_queue.event_type GLOB h.event_type) AS is_listed
FROM event_queue
WHERE event_id = $1;
