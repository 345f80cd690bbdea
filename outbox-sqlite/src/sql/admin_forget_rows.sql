-- Waiting rows of these types that wait for something, or that some handler has begun with, in order, after a given one. Reads
-- the queue in that order.
-- $1 [type or pattern], $2 after, $3 most
SELECT q.id, coalesce(q.event_id, '')
FROM event_queue AS q
WHERE q.id > $2 AND q.status = 'pending'
  AND EXISTS (SELECT 1 FROM json_each($1) AS t WHERE q.event_type GLOB t.value)
  AND (q.waits_for <> '' OR EXISTS (SELECT 1 FROM processed_events AS p WHERE p.event_id = q.event_id))
ORDER BY q.id
LIMIT $3;
