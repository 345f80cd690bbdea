-- Waiting rows of these types that wait for something, in order, after a given one. Reads the queue in that order.
-- $1 [type or pattern], $2 after, $3 most
SELECT q.id, coalesce(q.event_id, '')
FROM event_queue AS q
WHERE q.id > $2 AND q.status = 'pending' AND q.waits_for <> ''
  AND EXISTS (SELECT 1 FROM json_each($1) AS t WHERE q.event_type GLOB t.value)
ORDER BY q.id
LIMIT $3;
