-- Creation of the oldest event that is due and not finished. Reads what is unfinished, through event_queue_available
-- and event_queue_processing.
-- $1 now
SELECT min(oldest) AS oldest FROM (
    SELECT min(created_at) AS oldest FROM event_queue WHERE status = 'pending' AND available_at <= $1
    UNION ALL
    SELECT min(created_at) FROM event_queue WHERE status = 'processing'
);
