-- Rows behind an unfinished one of their key wait until that one is settled.
UPDATE event_queue
SET status = 'pending', waits_for = 'key', claimed_at = NULL, claimed_by = NULL
WHERE id IN (SELECT id FROM temp.candidate) AND id NOT IN (SELECT row_id FROM temp.pair WHERE row_id > 0);
