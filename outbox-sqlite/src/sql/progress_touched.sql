-- Rows of which one handler has finished while others run: it may get the next event of the key (wake_key.sql). Also those
-- that another worker has taken over meanwhile, since what the ledger has taken counts.
-- $7 {progressed: [[row, token]]}
INSERT OR IGNORE INTO temp.touched (id, examined)
SELECT q.id, 0
FROM json_each($7, '$.progressed') AS s
CROSS JOIN event_queue AS q ON q.id = s.value ->> 0
WHERE q.status = 'processing';
