-- Claims that are given back or given up, each guarded by its token, so that a claim that was taken over stays as it is.
-- Through the ledger's primary key.
-- $3 {other: [[event_id, handler, owner, started_at, status, processed_at, lease_until, error, refund]]}
UPDATE processed_events AS p
SET status = c.value ->> 4,
    processed_at = c.value ->> 5,
    lease_until = c.value ->> 6,
    last_error = coalesce(c.value ->> 7, p.last_error),
    attempts = p.attempts - (c.value ->> 8)
FROM json_each($3, '$.other') AS c
WHERE p.event_id = c.value ->> 0 AND p.handler = c.value ->> 1
  AND p.owner = c.value ->> 2 AND p.started_at = c.value ->> 3
  AND p.status = 'in_progress';
