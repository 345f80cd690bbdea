-- Types with waiting rows that no handler is listed for, one step through event_queue_available each.
WITH RECURSIVE types (event_type) AS (
    SELECT min(event_type) FROM event_queue WHERE status = 'pending'
    UNION ALL
    SELECT (SELECT min(q.event_type) FROM event_queue AS q WHERE q.status = 'pending' AND q.event_type > t.event_type)
    FROM types AS t WHERE t.event_type IS NOT NULL
)
SELECT event_type FROM types AS t
WHERE event_type IS NOT NULL
  AND NOT EXISTS (SELECT 1 FROM outbox_handlers AS h WHERE t.event_type GLOB h.event_type);
