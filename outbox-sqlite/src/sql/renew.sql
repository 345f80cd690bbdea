-- Renewals of leases, guarded by their tokens.
-- $4 [[event_id, handler, owner, started_at, lease_until]]
UPDATE processed_events AS p
SET lease_until = c.value ->> 4
FROM json_each($4) AS c
WHERE p.event_id = c.value ->> 0 AND p.handler = c.value ->> 1
  AND p.owner = c.value ->> 2 AND p.started_at = c.value ->> 3
  AND p.status = 'in_progress';
