-- Rows that are dead-lettered as a whole, as far as they are still ours.
-- $9 now, $5 {items: [[row, token, kind, at, error]]}
UPDATE event_queue
SET status = 'dead_lettered', finished_at = $9, claimed_at = NULL, claimed_by = NULL, waits_for = '',
    last_error = s.value ->> 4
FROM json_each($5, '$.items') AS s
WHERE s.value ->> 2 = 'dead'
  AND event_queue.id = s.value ->> 0 AND event_queue.claimed_by = s.value ->> 1 AND event_queue.status = 'processing';
