-- The earlier event of a key that is in the way of this one: the nearest that a handler of both has not finished, or
-- else the nearest that it gave up. Through event_queue_key.
-- $1 row, $2 event_key, $3 event_type, $4 event_id
SELECT e.event_id
FROM event_queue AS e
CROSS JOIN outbox_handlers AS h ON e.event_type GLOB h.event_type
LEFT JOIN processed_events AS p ON p.event_id = e.event_id AND p.handler = h.handler
WHERE e.event_key = $2 AND e.id < $1 AND e.status <> 'done' AND coalesce(p.status <> 'done', 1)
  AND EXISTS (SELECT 1 FROM outbox_handlers AS own WHERE own.handler = h.handler AND $3 GLOB own.event_type)
  AND NOT EXISTS (
      SELECT 1 FROM processed_events AS over
      WHERE over.event_id = $4 AND over.handler = h.handler AND over.status IN ('done', 'dead')
  )
ORDER BY e.status = 'dead_lettered' OR coalesce(p.status = 'dead', 0), e.id DESC
LIMIT 1;
