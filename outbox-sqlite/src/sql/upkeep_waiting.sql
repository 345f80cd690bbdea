-- Handlers that this worker does not have, that are due and have not begun, with the number of their rows, through
-- processed_events_released.
-- $1 now, $2 [{name}]
SELECT p.handler, count(*)
FROM processed_events AS p
WHERE p.status = 'released'
  AND p.lease_until <= $1
  AND p.started_at = 0
  AND p.handler NOT IN (SELECT value ->> 'name' FROM json_each($2))
GROUP BY p.handler;
