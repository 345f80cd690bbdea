-- Whether anything is old enough to be pruned, through the indexes of finished rows and processed_events_released.
-- $1, $2, $3: what finished before these moments may go (done rows, dead rows, ledger rows)
WITH RECURSIVE handlers (handler) AS (
    SELECT min(handler) FROM processed_events WHERE status = 'released'
    UNION ALL
    SELECT (SELECT min(p.handler) FROM processed_events AS p WHERE p.status = 'released' AND p.handler > h.handler)
    FROM handlers AS h WHERE h.handler IS NOT NULL
)
SELECT EXISTS (SELECT 1 FROM event_queue WHERE finished_at <= max($1, $2))
    OR EXISTS (SELECT 1 FROM processed_events WHERE status IN ('done', 'dead') AND processed_at <= $3)
    OR EXISTS (
        SELECT 1 FROM handlers AS h
        CROSS JOIN processed_events AS p ON p.handler = h.handler
        WHERE p.status = 'released' AND p.lease_until <= $3
    );
