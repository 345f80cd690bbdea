-- Rows that were settled before the marks of their handlers came are settled again, through event_queue_event_id.
-- $3 {done: [{ids: [event_id]}], other: [[event_id, …]]}
INSERT OR IGNORE INTO temp.touched (id, examined)
SELECT q.id, 0
FROM (
    SELECT id.value AS event_id
    FROM json_each($3, '$.done') AS claims CROSS JOIN json_each(claims.value, '$.ids') AS id
    UNION ALL
    SELECT value ->> 0 FROM json_each($3, '$.other')
) AS c
CROSS JOIN event_queue AS q ON q.event_id = c.event_id
WHERE q.status = 'pending';
