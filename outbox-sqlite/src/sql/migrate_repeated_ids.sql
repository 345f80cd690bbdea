-- How many rows of a queue with ids of its own share theirs with another. Scans the table, once, at adoption.
SELECT count(event_id) - count(DISTINCT event_id) FROM event_queue
