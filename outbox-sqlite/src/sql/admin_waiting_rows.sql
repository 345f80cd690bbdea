-- Waiting rows per type and what they wait for, how many of them are not due yet, and whether any handler is listed for
-- the type. Through event_queue_available.
-- $1 now
SELECT q.event_type, q.waits_for, count(*) AS events, sum(q.available_at > $1) AS not_due,
       EXISTS (SELECT 1 FROM outbox_handlers AS h WHERE q.event_type GLOB h.event_type) AS is_listed
FROM event_queue AS q
WHERE q.status = 'pending'
GROUP BY q.event_type, q.waits_for;
