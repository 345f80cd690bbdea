-- Unfinished handlers that this worker cannot run get a ledger row that is due now, by which other workers find the event:
-- those that it does not have and that have not begun, or whose claim has expired; and those of which it knows no version
-- as new as the event's, unless the event waits for nothing else (requeue.sql).
-- $9 now, $6 {handlers: [{name, max_version}], anyone}
INSERT INTO processed_events (event_id, handler, status, started_at, lease_until, attempts)
SELECT q.event_id, h.handler, 'released', 0, $9, 0
FROM temp.touched AS t
CROSS JOIN event_queue AS q ON q.id = t.id
CROSS JOIN outbox_handlers AS h ON q.event_type GLOB h.event_type
LEFT JOIN json_each($6, '$.handlers') AS m ON m.value ->> 'name' = h.handler
WHERE q.status IN ('pending', 'processing')
  AND q.event_id IS NOT NULL
  AND NOT $6 ->> 'anyone'
  AND (m.value IS NULL OR (q.event_version > m.value ->> 'max_version' AND EXISTS (
        SELECT 1
        FROM outbox_handlers AS o
        LEFT JOIN json_each($6, '$.handlers') AS om ON om.value ->> 'name' = o.handler
        LEFT JOIN processed_events AS p ON p.event_id = q.event_id AND p.handler = o.handler
        WHERE q.event_type GLOB o.event_type
          AND CASE
                WHEN p.status IS NULL THEN om.value IS NULL OR q.event_version <= om.value ->> 'max_version'
                ELSE p.status IN ('released', 'in_progress')
              END
  )))
ON CONFLICT (event_id, handler) DO UPDATE
SET status = 'released', lease_until = excluded.lease_until, last_error = 'worker lost'
WHERE status = 'in_progress' AND lease_until <= excluded.lease_until;
