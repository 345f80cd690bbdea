-- Keeps received rows ours for another lease.
-- $9 now, $7 {extended: [[row, token]]}
UPDATE event_queue
SET claimed_at = $9
FROM json_each($7, '$.extended') AS s
WHERE event_queue.id = s.value ->> 0 AND event_queue.claimed_by = s.value ->> 1 AND event_queue.status = 'processing';
