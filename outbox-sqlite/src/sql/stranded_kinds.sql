-- What waiting rows of this worker's types wait for, one step through event_queue_available per type and kind.
-- $1 [{event_type}]
WITH RECURSIVE types (event_type) AS (
    SELECT min(event_type) FROM event_queue WHERE status = 'pending'
    UNION ALL
    SELECT (SELECT min(q.event_type) FROM event_queue AS q WHERE q.status = 'pending' AND q.event_type > t.event_type)
    FROM types AS t WHERE t.event_type IS NOT NULL
),
kinds (event_type, waits_for) AS (
    SELECT t.event_type, ''
    FROM types AS t
    WHERE EXISTS (SELECT 1 FROM json_each($1) AS h WHERE t.event_type GLOB h.value ->> 'event_type')
    UNION ALL
    SELECT k.event_type, (
        SELECT min(q.waits_for) FROM event_queue AS q
        WHERE q.status = 'pending' AND q.event_type = k.event_type AND q.waits_for > k.waits_for)
    FROM kinds AS k WHERE k.waits_for IS NOT NULL
)
SELECT event_type, waits_for FROM kinds WHERE waits_for <> '' ORDER BY event_type, waits_for;
