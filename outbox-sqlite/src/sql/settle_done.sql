-- Rows that every listed handler has finished are done, if there is one. (Those with more to them are for requeue.sql.)
-- Whether there is one is looked up among the types first, which costs a row next to nothing, and then among the patterns.
-- $9 now
UPDATE event_queue AS q
SET status = 'done', finished_at = $9, claimed_at = NULL, claimed_by = NULL, waits_for = ''
WHERE q.id IN (SELECT id FROM temp.touched)
  AND q.status = 'processing'
  AND NOT EXISTS (
    SELECT 1 FROM outbox_handlers AS h
    WHERE q.event_type GLOB h.event_type
      AND NOT EXISTS (
        SELECT 1 FROM processed_events AS p
        WHERE p.event_id = q.event_id AND p.handler = h.handler AND p.status = 'done'
      )
  )
  AND (
    q.event_type IN (SELECT event_type FROM outbox_handlers)
    OR EXISTS (SELECT 1 FROM outbox_handlers AS h WHERE q.event_type GLOB h.event_type)
  );
