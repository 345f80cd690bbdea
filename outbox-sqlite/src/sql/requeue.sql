-- Puts unfinished rows back according to the ledger, where they are found when something can run, and finishes those
-- with nothing left. In this order: a handler of ours that has not begun, or whose claim somebody still holds: due then;
-- handlers with a released ledger row: found by that; a version we do not know; else behind earlier events of the key.
-- With no handler listed they go on waiting for any.
-- `examined`: the claim has just looked and found nothing to run, so what is ours and due waits for its key.
-- $9 now, $6 {handlers: [{name, max_version}], anyone}
WITH mine AS MATERIALIZED (
    SELECT value ->> 'name' AS name, value ->> 'max_version' AS max_version FROM json_each($6, '$.handlers')
),
progress AS MATERIALIZED (
    SELECT q.id, t.examined, q.event_version, h.handler, p.status AS claim, p.lease_until, p.attempts,
           h.handler IS NOT NULL AND (p.status IS NULL OR p.status IN ('released', 'in_progress')) AS unfinished,
           ($6 ->> 'anyone') OR m.name IS NOT NULL AS ours,
           ($6 ->> 'anyone') OR coalesce(q.event_version <= m.max_version, 1) AS known
    FROM temp.touched AS t
    CROSS JOIN event_queue AS q ON q.id = t.id AND q.status IN ('pending', 'processing')
    LEFT JOIN outbox_handlers AS h ON q.event_type GLOB h.event_type
    LEFT JOIN processed_events AS p ON p.event_id = q.event_id AND p.handler = h.handler
    LEFT JOIN mine AS m ON m.name = h.handler
),
verdict AS MATERIALIZED (
    SELECT id,
           total(unfinished) + (count(handler) = 0) AS unfinished,
           count(handler) AS listed,
           total(claim = 'dead') AS dead,
           min(CASE
                WHEN claim = 'in_progress' AND lease_until > $9 THEN lease_until
                WHEN claim = 'in_progress' AND NOT examined THEN $9
                WHEN unfinished AND claim IS NULL AND ours AND known AND NOT examined THEN $9
               END) AS fresh_at,
           min(CASE
                WHEN claim = 'released' AND NOT (examined AND ours AND known AND lease_until <= $9)
                THEN lease_until
               END) AS released_at,
           max(CASE WHEN unfinished AND ours AND NOT known THEN event_version END) AS newer,
           max(attempts) AS attempts
    FROM progress
    GROUP BY id
)
UPDATE event_queue AS q
SET status = CASE WHEN v.unfinished > 0 THEN 'pending' WHEN v.dead > 0 THEN 'dead_lettered' ELSE 'done' END,
    finished_at = CASE WHEN v.unfinished > 0 THEN NULL ELSE $9 END,
    waits_for = CASE
        WHEN v.unfinished = 0 OR v.fresh_at IS NOT NULL THEN ''
        WHEN v.released_at IS NOT NULL THEN 'handler'
        WHEN v.newer IS NOT NULL THEN 'version:' || v.newer
        WHEN v.listed = 0 THEN ''
        ELSE 'key'
        END,
    available_at = coalesce(v.fresh_at, v.released_at, q.available_at),
    attempts = coalesce(v.attempts, q.attempts),
    last_error = coalesce(
        (SELECT p.last_error FROM processed_events AS p
         WHERE p.event_id = q.event_id AND p.last_error IS NOT NULL ORDER BY p.started_at DESC LIMIT 1),
        q.last_error),
    claimed_at = NULL, claimed_by = NULL
FROM verdict AS v
WHERE q.id = v.id;
