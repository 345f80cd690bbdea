-- Events per type and state. Reads the whole queue.
SELECT event_type, status, count(*) AS events, min(created_at) AS oldest
FROM event_queue
GROUP BY event_type, status
ORDER BY event_type;
