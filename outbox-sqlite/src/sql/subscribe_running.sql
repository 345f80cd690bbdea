-- Waiting rows of these types on which a handler runs though they were given back, so that they are due when its lease ends: a
-- new handler need not wait for that. Through event_queue_available. A read, since it may look past many delayed events.
-- $1 now, $2 [{event_type}], $3 most
WITH RECURSIVE types (event_type) AS (
    SELECT min(event_type) FROM event_queue WHERE status = 'pending'
    UNION ALL
    SELECT (SELECT min(q.event_type) FROM event_queue AS q WHERE q.status = 'pending' AND q.event_type > t.event_type)
    FROM types AS t WHERE t.event_type IS NOT NULL
)
SELECT q.id
FROM types AS t
CROSS JOIN event_queue AS q INDEXED BY event_queue_available
WHERE q.status = 'pending' AND q.event_type = t.event_type AND q.waits_for = '' AND q.available_at > $1
  AND EXISTS (SELECT 1 FROM json_each($2) AS h WHERE t.event_type GLOB h.value ->> 'event_type')
  AND EXISTS (SELECT 1 FROM processed_events AS p WHERE p.event_id = q.event_id AND p.status = 'in_progress')
LIMIT $3;
