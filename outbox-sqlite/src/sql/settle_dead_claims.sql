-- Claims on rows that are dead-lettered as a whole are over: nothing will end them.
-- $9 now, $5 {items: [[row, token, kind]]}
UPDATE processed_events
SET status = 'released', lease_until = $9, attempts = attempts - 1
WHERE status = 'in_progress' AND event_id IN (
    SELECT q.event_id
    FROM json_each($5, '$.items') AS s
    CROSS JOIN event_queue AS q ON q.id = s.value ->> 0
    WHERE s.value ->> 2 = 'dead' AND q.id IN (SELECT id FROM temp.touched)
);
