-- Dead-lettered rows that are about to be deleted, for wake_key.sql: what they have held back goes on. Through the rows'
-- numbers.
-- $1 dead before, $2 [row]
INSERT INTO temp.touched (id, examined)
SELECT id, 0 FROM event_queue
WHERE id IN (SELECT value FROM json_each($2))
  AND status = 'dead_lettered' AND finished_at <= $1 AND event_key IS NOT NULL;
