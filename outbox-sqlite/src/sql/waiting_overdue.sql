-- Handlers that are listed for events that nobody has begun with though they have been due for long, with the number of
-- those events; but for types that this worker handles itself. The oldest of a type tells whether it is true of a handler.
-- Through event_queue_available.
-- $1 due by then, $2 [{event_type}] of this worker
WITH RECURSIVE types (event_type) AS (
    SELECT min(event_type) FROM event_queue WHERE status = 'pending'
    UNION ALL
    SELECT (SELECT min(q.event_type) FROM event_queue AS q WHERE q.status = 'pending' AND q.event_type > t.event_type)
    FROM types AS t WHERE t.event_type IS NOT NULL
),
overdue (event_type, oldest, events) AS MATERIALIZED (
    SELECT t.event_type,
           (SELECT q.id FROM event_queue AS q
            WHERE q.status = 'pending' AND q.event_type = t.event_type AND q.waits_for = '' AND q.available_at <= $1
            ORDER BY q.available_at, q.id LIMIT 1),
           (SELECT count(*) FROM event_queue AS q
            WHERE q.status = 'pending' AND q.event_type = t.event_type AND q.waits_for = '' AND q.available_at <= $1)
    FROM types AS t
    WHERE t.event_type IS NOT NULL
      AND NOT EXISTS (SELECT 1 FROM json_each($2) AS own WHERE t.event_type GLOB own.value ->> 'event_type')
)
SELECT h.handler, sum(o.events)
FROM overdue AS o
CROSS JOIN event_queue AS q ON q.id = o.oldest
CROSS JOIN (SELECT DISTINCT handler FROM outbox_handlers) AS h
WHERE EXISTS (SELECT 1 FROM outbox_handlers AS l WHERE l.handler = h.handler AND o.event_type GLOB l.event_type)
  AND NOT EXISTS (SELECT 1 FROM processed_events AS p WHERE p.event_id = q.event_id AND p.handler = h.handler)
GROUP BY h.handler;
