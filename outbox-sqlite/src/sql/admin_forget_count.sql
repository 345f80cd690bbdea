-- How many unfinished events wait for a handler. Reads what is unfinished.
-- $1 handler
SELECT count(*) FROM event_queue AS q
WHERE q.status IN ('pending', 'processing')
  AND EXISTS (SELECT 1 FROM outbox_handlers AS h WHERE h.handler = $1 AND q.event_type GLOB h.event_type)
  AND NOT EXISTS (
      SELECT 1 FROM processed_events AS p
      WHERE p.event_id = q.event_id AND p.handler = $1 AND p.status IN ('done', 'dead')
  );
