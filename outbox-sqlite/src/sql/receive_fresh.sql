-- Rows of this worker's types that wait for nothing, or for a version that it knows, at most `window` of each kind, in order
-- of due time, through event_queue_available. Which versions rows wait for is looked up, one step through that index each.
-- $9 now, $2 {types: [{type, max_version}], window}
WITH RECURSIVE newer (event_type, max_version, waits_for) AS (
    SELECT t.value ->> 'type', t.value ->> 'max_version', 'version:'
    FROM json_each($2, '$.types') AS t
    WHERE t.value ->> 'max_version' > 1
    UNION ALL
    SELECT n.event_type, n.max_version, (
        SELECT min(q.waits_for) FROM event_queue AS q INDEXED BY event_queue_available
        WHERE q.status = 'pending' AND q.event_type = n.event_type AND q.waits_for > n.waits_for
    )
    FROM newer AS n
    WHERE n.waits_for IS NOT NULL
),
kind (event_type, waits_for) AS (
    SELECT t.value ->> 'type', '' FROM json_each($2, '$.types') AS t
    UNION ALL
    SELECT event_type, waits_for FROM newer
    WHERE waits_for > 'version:' AND CAST(substr(waits_for, 9) AS INTEGER) <= max_version
)
INSERT INTO temp.candidate (id, due)
SELECT q.id, q.available_at
FROM kind
CROSS JOIN event_queue AS q
WHERE q.id IN (
    SELECT a.id FROM event_queue AS a INDEXED BY event_queue_available
    WHERE a.status = 'pending'
      AND a.event_type = kind.event_type
      AND a.waits_for = kind.waits_for
      AND a.available_at <= $9
    ORDER BY a.available_at, a.id
    LIMIT $2 ->> 'window'
);
