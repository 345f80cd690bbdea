-- Due rows of types that no handler is listed for, and those that a worker left in hand whose handlers are retired. One
-- step through event_queue_available per type, and through event_queue_processing. A read, so that a store with nothing
-- to end is not written to.
-- $1 now, $2 claimed before, $3 most rows
WITH RECURSIVE types (event_type) AS (
    SELECT min(event_type) FROM event_queue WHERE status = 'pending'
    UNION ALL
    SELECT (SELECT min(q.event_type) FROM event_queue AS q WHERE q.status = 'pending' AND q.event_type > t.event_type)
    FROM types AS t WHERE t.event_type IS NOT NULL
)
SELECT id FROM (
    SELECT q.id
    FROM types AS t
    CROSS JOIN event_queue AS q
    WHERE q.status = 'pending' AND q.event_type = t.event_type AND q.available_at <= $1
      AND NOT EXISTS (SELECT 1 FROM outbox_handlers AS h WHERE t.event_type GLOB h.event_type)
    UNION ALL
    SELECT q.id
    FROM event_queue AS q
    WHERE q.status = 'processing' AND (q.claimed_at IS NULL OR q.claimed_at <= $2)
      AND NOT EXISTS (SELECT 1 FROM outbox_handlers AS h WHERE q.event_type GLOB h.event_type)
    LIMIT $3
);
