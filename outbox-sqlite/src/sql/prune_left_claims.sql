-- Ledger rows that an event left behind which was given up as a whole and is gone, one handler after the other through
-- processed_events_released.
-- $1 due before, $2 most rows
WITH RECURSIVE handlers (handler) AS (
    SELECT min(handler) FROM processed_events WHERE status = 'released'
    UNION ALL
    SELECT (SELECT min(p.handler) FROM processed_events AS p WHERE p.status = 'released' AND p.handler > h.handler)
    FROM handlers AS h WHERE h.handler IS NOT NULL
)
DELETE FROM processed_events
WHERE (event_id, handler) IN (
    SELECT p.event_id, p.handler
    FROM handlers AS h
    CROSS JOIN processed_events AS p ON p.handler = h.handler
    WHERE p.status = 'released' AND p.lease_until <= $1
      AND NOT EXISTS (SELECT 1 FROM event_queue AS q WHERE q.event_id = p.event_id AND q.status <> 'done')
    LIMIT $2
);
