-- Their events are looked at again. One that a worker has in hand is put back by that worker. Through the rows' numbers.
-- $1 now, $2 [[row]]
UPDATE event_queue
SET status = 'pending', waits_for = '', finished_at = NULL, claimed_at = NULL, claimed_by = NULL,
    attempts = CASE status WHEN 'pending' THEN attempts ELSE 0 END,
    available_at = min(available_at, $1)
WHERE status IN ('pending', 'dead_lettered') AND id IN (SELECT value ->> 0 FROM json_each($2));
