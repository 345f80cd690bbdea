-- One event, in the caller's transaction. An event behind one of its key and type that no handler has finished starts out
-- waiting for it, so that however many stand behind one key, a claim does not see them. The nearest is looked at, through
-- event_queue_key.
INSERT INTO event_queue
    (event_id, event_type, event_version, event_key, payload, headers, available_at, created_at, waits_for)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, CASE WHEN $4 IS NOT NULL AND EXISTS (
    SELECT 1
    FROM (
        SELECT event_id, status FROM event_queue
        WHERE event_key = $4 AND event_type = $2 AND status <> 'done'
        ORDER BY id DESC LIMIT 1
    ) AS nearest
    WHERE nearest.status <> 'dead_lettered'
      AND NOT EXISTS (
          SELECT 1 FROM processed_events AS p
          WHERE p.event_id = nearest.event_id AND p.status IN ('done', 'dead')
      )
) THEN 'key' ELSE '' END)
ON CONFLICT (event_id) DO NOTHING;
