-- The ledger mark of a handler's transaction, guarded by the claim's token.
-- $1 now, $2 event_id, $3 handler, $4 owner, $5 started_at
UPDATE processed_events
SET status = 'done', processed_at = $1, lease_until = NULL
WHERE event_id = $2 AND handler = $3 AND owner = $4 AND started_at = $5 AND status = 'in_progress';
