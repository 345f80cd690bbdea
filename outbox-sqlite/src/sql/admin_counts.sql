-- Events per type and state. Reads the whole queue.
SELECT event_type, status, count(*), min(created_at) FROM event_queue GROUP BY event_type, status ORDER BY event_type;
