-- Grants the claims: the attempt is counted, and the token (owner, started_at) is new. An attempt before it that came to
-- no end was lost with its worker.
-- A start that a foreign hand has put at the end of time must not fail the claim, and with it every other one.
-- $9 now
INSERT INTO processed_events (event_id, handler, status, started_at, lease_until, owner, attempts)
SELECT event_id, handler, 'in_progress', $9, lease_until, owner, 1
FROM temp.pair
WHERE NOT lost AND handler <> ''
ON CONFLICT (event_id, handler) DO UPDATE
SET status = 'in_progress', started_at = max(excluded.started_at, min(started_at, 9223372036854775806) + 1), processed_at = NULL,
    lease_until = excluded.lease_until, owner = excluded.owner, attempts = attempts + 1,
    last_error = CASE status WHEN 'in_progress' THEN 'worker lost' ELSE last_error END;
