-- Creation of the oldest event that is due and not finished.
-- $1 now
SELECT min(created_at) FROM event_queue
WHERE (status = 'pending' AND available_at <= $1) OR status = 'processing';
