-- Finished rows that are old enough, through event_queue_finished.
-- $1 done before, $2 dead before, $3 most rows
DELETE FROM event_queue
WHERE id IN (
    SELECT id FROM event_queue
    WHERE finished_at IS NOT NULL
      AND ((finished_at <= $1 AND status = 'done') OR (finished_at <= $2 AND status = 'dead_lettered'))
      AND finished_at <= max($1, $2)
    ORDER BY finished_at
    LIMIT $3
);
