-- One event, in the caller's transaction. An event behind an earlier unfinished one of its key and type starts out
-- waiting for it, so that however many stand behind one key, a claim does not see them.
INSERT INTO event_queue
    (event_id, event_type, event_version, event_key, payload, headers, available_at, created_at, waits_for)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, CASE WHEN $4 IS NOT NULL AND EXISTS (
    SELECT 1 FROM event_queue
    WHERE event_key = $4 AND event_type = $2 AND status <> 'done' AND status IN ('pending', 'processing')
) THEN 'key' ELSE '' END)
ON CONFLICT (event_id) DO NOTHING;
