-- Several events in one statement; returns the ids that were not there before. Within one call, events of one key
-- are put in order by the claim.
-- $1 [[event_id, type, version, key, payload, headers, available_at, created_at]]
INSERT INTO event_queue
    (event_id, event_type, event_version, event_key, payload, headers, available_at, created_at, waits_for)
SELECT e.value ->> 0, e.value ->> 1, e.value ->> 2, e.value ->> 3, e.value ->> 4, e.value ->> 5, e.value ->> 6,
       e.value ->> 7,
       CASE WHEN e.value ->> 3 IS NOT NULL AND EXISTS (
           SELECT 1
           FROM (
               SELECT q.event_id, q.status FROM event_queue AS q
               WHERE q.event_key = e.value ->> 3 AND q.event_type = e.value ->> 1 AND q.status <> 'done'
               ORDER BY q.id DESC LIMIT 1
           ) AS nearest
           WHERE nearest.status <> 'dead_lettered'
             AND NOT EXISTS (
                 SELECT 1 FROM processed_events AS p
                 WHERE p.event_id = nearest.event_id AND p.status IN ('done', 'dead')
             )
       ) THEN 'key' ELSE '' END
FROM json_each($1) AS e
WHERE true
ORDER BY e.key
ON CONFLICT (event_id) DO NOTHING
RETURNING 'enqueued' AS part, event_id AS value;
