-- The lock was waited for, and what was granted at the end of the wait is to have its whole lease from then on.
-- $1 milliseconds that were waited
BEGIN IMMEDIATE;
UPDATE processed_events AS p
SET lease_until = p.lease_until + $1
FROM temp.pair AS c
WHERE p.event_id = c.event_id AND p.handler = c.handler AND p.owner = c.owner AND p.status = 'in_progress' AND NOT c.lost;
UPDATE event_queue SET claimed_at = claimed_at + $1
WHERE id IN (SELECT row_id FROM temp.pair WHERE row_id > 0 AND NOT lost) AND status = 'processing';
COMMIT;
