-- Once an event of a key has come further, the next one of the key may be looked at, per type, through event_queue_key.
-- (Other types matter only to handlers of a pattern of types.) Rows that were merely put back wake nobody.
-- $9 now
WITH RECURSIVE types (event_type) AS (
    SELECT min(event_type) FROM event_queue
    WHERE status = 'pending' AND EXISTS (SELECT 1 FROM outbox_handlers WHERE instr(event_type, '*'))
    UNION ALL
    SELECT (SELECT min(q.event_type) FROM event_queue AS q WHERE q.status = 'pending' AND q.event_type > t.event_type)
    FROM types AS t WHERE t.event_type IS NOT NULL
),
moved AS MATERIALIZED (
    SELECT q.id, q.event_key, q.event_type
    FROM temp.touched AS t
    CROSS JOIN event_queue AS q ON q.id = t.id
    WHERE q.event_key IS NOT NULL AND (q.status IN ('done', 'dead_lettered') OR NOT t.examined)
),
chain AS (
    SELECT id, event_key, event_type FROM moved
    UNION
    SELECT m.id, m.event_key, t.event_type FROM moved AS m CROSS JOIN types AS t WHERE t.event_type IS NOT NULL
)
UPDATE event_queue
SET waits_for = '',
    available_at = CASE waits_for WHEN 'key' THEN available_at ELSE min(available_at, $9) END
WHERE id IN (
    SELECT (
        SELECT n.id FROM event_queue AS n
        WHERE n.event_key = c.event_key AND n.event_type = c.event_type AND n.id > c.id
          AND n.status <> 'done' AND n.status = 'pending' AND n.waits_for IN ('key', 'handler')
        ORDER BY n.id LIMIT 1
    )
    FROM chain AS c
);
