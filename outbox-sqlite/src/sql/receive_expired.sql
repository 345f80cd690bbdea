-- Rows whose worker is gone, through event_queue_processing: claimed too long ago, or by nobody knows whom.
-- $2 {handlers: [{event_type}], window, expired_before}
INSERT OR IGNORE INTO temp.candidate (id, due)
SELECT q.id, q.available_at
FROM event_queue AS q INDEXED BY event_queue_processing
WHERE q.status = 'processing'
  AND (q.claimed_at IS NULL OR q.claimed_at <= $2 ->> 'expired_before')
  AND EXISTS (SELECT 1 FROM json_each($2, '$.handlers') AS h WHERE q.event_type GLOB h.value ->> 'event_type')
LIMIT $2 ->> 'window';
