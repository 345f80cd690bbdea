-- Handlers that gave up, oldest first, after a given place, through processed_events_finished.
-- $1 not after, $2 event_id, $3 event_type, $4 handler, $5 text, $6 most, $7 with payload,
-- $8 $9 $10 the place: died_at, event_id, handler
SELECT p.processed_at AS died_at, p.event_id, p.handler, p.attempts, p.last_error, q.event_type, q.event_key,
       iif($7, q.payload, NULL) AS payload, q.id
FROM processed_events AS p
CROSS JOIN event_queue AS q ON q.event_id = p.event_id
WHERE p.status = 'dead'
  AND p.processed_at <= $1
  AND (p.processed_at, p.event_id, p.handler) > ($8, $9, $10)
  AND ($2 IS NULL OR p.event_id = $2)
  AND ($3 IS NULL OR q.event_type = $3)
  AND ($4 IS NULL OR p.handler = $4)
  AND ($5 IS NULL OR instr(p.last_error, $5))
ORDER BY p.processed_at, p.event_id, p.handler
LIMIT $6;
