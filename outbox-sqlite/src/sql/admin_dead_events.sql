-- Events that were dead-lettered as a whole, oldest first, after a given place, through event_queue_dead.
-- $1 not after, $2 event_id, $3 event_type, $4 text, $5 most, $6 with payload, $7 $8 the place: died_at, row
SELECT q.finished_at AS died_at, q.event_id, NULL AS handler, q.attempts, q.last_error, q.event_type, q.event_key,
       iif($6, q.payload, NULL) AS payload, q.id
FROM event_queue AS q
WHERE q.status = 'dead_lettered'
  AND q.finished_at <= $1
  AND (q.finished_at, q.id) > ($7, $8)
  AND ($2 IS NULL OR q.event_id = $2)
  AND ($3 IS NULL OR q.event_type = $3)
  AND ($4 IS NULL OR instr(q.last_error, $4))
  AND NOT EXISTS (SELECT 1 FROM processed_events AS p WHERE p.event_id = q.event_id AND p.status = 'dead')
ORDER BY q.finished_at, q.id
LIMIT $5;
