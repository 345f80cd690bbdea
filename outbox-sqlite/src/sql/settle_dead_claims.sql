-- What the worker still runs of rows that it has dead-lettered as a whole is given back, as if it had not begun: nothing
-- would end these claims. Those of others live on.
-- $9 now, $5 {items: [[row, token, kind]]}, $6 {owner}
UPDATE processed_events
SET status = 'released', lease_until = $9, attempts = attempts - 1
WHERE status = 'in_progress' AND owner = $6 ->> 'owner' AND event_id IN (
    SELECT q.event_id
    FROM json_each($5, '$.items') AS s
    CROSS JOIN event_queue AS q ON q.id = s.value ->> 0
    WHERE s.value ->> 2 = 'dead' AND q.id IN (SELECT id FROM temp.touched)
);
