-- Rows of these types that were put aside for other handlers become due, at most 1,000 of them, through
-- event_queue_available.
-- $1 now, $2 [{event_type}]
WITH RECURSIVE types (event_type) AS (
    SELECT min(event_type) FROM event_queue WHERE status = 'pending'
    UNION ALL
    SELECT (SELECT min(q.event_type) FROM event_queue AS q WHERE q.status = 'pending' AND q.event_type > t.event_type)
    FROM types AS t WHERE t.event_type IS NOT NULL
)
UPDATE event_queue
SET waits_for = '', available_at = min(available_at, $1)
WHERE id IN (
    SELECT q.id
    FROM types AS t
    CROSS JOIN event_queue AS q
    WHERE q.status = 'pending' AND q.event_type = t.event_type AND q.waits_for = 'handler'
      AND EXISTS (SELECT 1 FROM json_each($2) AS h WHERE t.event_type GLOB h.value ->> 'event_type')
    LIMIT 1000
);
