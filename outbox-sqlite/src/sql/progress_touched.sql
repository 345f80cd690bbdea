-- Rows in hand, of which one handler has finished: it may get the next event of the key (wake_key.sql).
-- $7 {progressed: [[row, token]]}
INSERT OR IGNORE INTO temp.touched (id, examined)
SELECT q.id, 0
FROM json_each($7, '$.progressed') AS s
CROSS JOIN event_queue AS q ON q.id = s.value ->> 0
WHERE q.claimed_by = s.value ->> 1 AND q.status = 'processing';
