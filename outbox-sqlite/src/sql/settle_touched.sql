-- The rows to settle: those that are still ours.
-- $5 {items: [[row, token, …]]}
INSERT OR IGNORE INTO temp.touched (id, examined)
SELECT q.id, 0
FROM json_each($5, '$.items') AS s
CROSS JOIN event_queue AS q ON q.id = s.value ->> 0
WHERE q.claimed_by = s.value ->> 1 AND q.status = 'processing';
