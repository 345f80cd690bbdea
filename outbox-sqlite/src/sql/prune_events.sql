-- Deletes rows that were found, if they are still as old as that. Through the rows' numbers.
-- $1 done before, $2 dead before, $3 [row]
DELETE FROM event_queue
WHERE id IN (SELECT value FROM json_each($3))
  AND ((status = 'done' AND finished_at <= $1) OR (status = 'dead_lettered' AND finished_at <= $2));
