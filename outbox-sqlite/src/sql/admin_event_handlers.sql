-- The handlers of one event: those with a ledger row, and those that are listed for its type and have not begun.
-- $1 event_id, $2 event_type (NULL: only the ledger's), $3 finished
SELECT p.handler, CASE WHEN p.started_at > 0 THEN p.status END AS status, p.attempts, p.owner,
       nullif(p.started_at, 0) AS started_at, CASE WHEN p.started_at > 0 THEN p.lease_until END AS lease_until,
       p.processed_at, p.last_error
FROM processed_events AS p
WHERE p.event_id = $1
UNION ALL
SELECT DISTINCT h.handler, NULL, 0, NULL, NULL, NULL, NULL, NULL
FROM outbox_handlers AS h
WHERE $2 GLOB h.event_type AND NOT $3
  AND NOT EXISTS (SELECT 1 FROM processed_events AS p WHERE p.event_id = $1 AND p.handler = h.handler)
ORDER BY 1;
