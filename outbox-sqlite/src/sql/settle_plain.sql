-- Settles rows as told, for a worker whose ledger is not in this database, and for the relay.
-- $9 now, $5 {items: [[row, token, kind, at, error]]}
UPDATE event_queue
SET status = CASE s.value ->> 2 WHEN 'done' THEN 'done' ELSE 'pending' END,
    finished_at = CASE s.value ->> 2 WHEN 'done' THEN $9 END,
    available_at = coalesce(s.value ->> 3, available_at),
    attempts = attempts - (s.value ->> 2 = 'defer'),
    last_error = coalesce(s.value ->> 4, last_error),
    claimed_at = NULL, claimed_by = NULL, waits_for = ''
FROM json_each($5, '$.items') AS s
WHERE s.value ->> 2 <> 'dead'
  AND event_queue.id = s.value ->> 0 AND event_queue.claimed_by = s.value ->> 1 AND event_queue.status = 'processing';
