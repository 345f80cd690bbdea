-- Whether a row was put back while a handler still runs on it, so that the handler's mark is yet to come.
SELECT 'early' AS part, EXISTS (
    SELECT 1
    FROM temp.touched AS t
    CROSS JOIN event_queue AS q ON q.id = t.id AND q.status = 'pending'
    CROSS JOIN processed_events AS p ON p.event_id = q.event_id AND p.status = 'in_progress'
) AS value;
