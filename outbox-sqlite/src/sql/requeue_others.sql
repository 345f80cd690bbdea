-- Unfinished handlers of other workers get a ledger row that is due now, by which those workers find the event: one
-- that has not begun, or whose claim has expired.
-- $9 now, $6 {handlers: [{name}], anyone}
INSERT INTO processed_events (event_id, handler, status, started_at, lease_until, attempts)
SELECT q.event_id, h.handler, 'released', 0, $9, 0
FROM temp.touched AS t
CROSS JOIN event_queue AS q ON q.id = t.id
CROSS JOIN outbox_handlers AS h ON q.event_type GLOB h.event_type
WHERE q.status IN ('pending', 'processing')
  AND q.event_id IS NOT NULL
  AND NOT $6 ->> 'anyone'
  AND h.handler NOT IN (SELECT value ->> 'name' FROM json_each($6, '$.handlers'))
ON CONFLICT (event_id, handler) DO UPDATE
SET status = 'released', lease_until = excluded.lease_until, last_error = coalesce(last_error, 'worker lost')
WHERE status = 'in_progress' AND lease_until <= excluded.lease_until;
