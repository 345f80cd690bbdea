-- The rows are ours until their lease ends. A count that a foreign writer left at its limit must not fail the claim.
-- $9 now, $2 {token}
UPDATE event_queue
SET status = 'processing', claimed_at = $9, claimed_by = $2 ->> 'token', attempts = min(attempts, 4294967294) + 1
WHERE id IN (SELECT row_id FROM temp.pair WHERE row_id > 0 AND NOT lost);
