-- Marks of finished handlers, guarded by their claims' tokens, so that a claim that was taken over stays as it is. Claims
-- of one batch share all of the token but the event, so they come together: to pick each apart would take longer than to
-- write it. Through the ledger's primary key.
-- $9 now, $3 {done: [{handler, owner, started_at, ids: [event_id]}]}
WITH claims AS MATERIALIZED (
    SELECT value ->> 'handler' AS handler, value ->> 'owner' AS owner, value ->> 'started_at' AS started_at,
           value -> 'ids' AS ids
    FROM json_each($3, '$.done')
),
marks AS MATERIALIZED (
    SELECT id.value AS event_id, c.handler, c.owner, c.started_at
    FROM claims AS c CROSS JOIN json_each(c.ids) AS id
)
UPDATE processed_events AS p
SET status = 'done', processed_at = $9, lease_until = NULL
FROM marks AS m
WHERE p.event_id = m.event_id AND p.handler = m.handler
  AND p.owner = m.owner AND p.started_at = m.started_at
  AND p.status = 'in_progress';
