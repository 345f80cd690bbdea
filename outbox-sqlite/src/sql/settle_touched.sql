-- The rows to settle: those that are still ours. Through the rows' numbers.
-- $5 {claims: [{token, rows: [row]}]}
WITH claims AS MATERIALIZED (
    SELECT value ->> 'token' AS token, value -> 'rows' AS rows FROM json_each($5, '$.claims')
)
INSERT OR IGNORE INTO temp.touched (id, examined)
SELECT q.id, 0
FROM claims AS c
CROSS JOIN json_each(c.rows) AS row
CROSS JOIN event_queue AS q ON q.id = row.value
WHERE q.claimed_by = c.token AND q.status = 'processing';
