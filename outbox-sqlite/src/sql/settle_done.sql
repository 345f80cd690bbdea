-- Rows that every listed handler has finished are done, if there is one. (Those with more to them are for requeue.sql.)
-- $9 now
UPDATE event_queue AS q
SET status = 'done', finished_at = $9, claimed_at = NULL, claimed_by = NULL, waits_for = ''
WHERE q.id IN (SELECT id FROM temp.touched)
  AND q.status = 'processing'
  AND (
    SELECT min(p.status IS 'done')
    FROM outbox_handlers AS h
    LEFT JOIN processed_events AS p ON p.event_id = q.event_id AND p.handler = h.handler
    WHERE q.event_type GLOB h.event_type
  );
