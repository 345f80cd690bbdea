-- How many rows are due and not finished, and since when the oldest waits, through event_queue_available.
-- $1 now
SELECT count(*), min(available_at) FROM event_queue WHERE status = 'pending' AND available_at <= $1;
