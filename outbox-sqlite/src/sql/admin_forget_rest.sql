-- Events for which a retired handler is still due, with their rows if they wait, through processed_events_released.
-- $1 handler, $2 most
SELECT coalesce(q.id, 0), p.event_id
FROM processed_events AS p
LEFT JOIN event_queue AS q ON q.event_id = p.event_id AND q.status = 'pending'
WHERE p.status = 'released' AND p.handler = $1
LIMIT $2;
