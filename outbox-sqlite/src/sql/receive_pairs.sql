-- The (event, handler) pairs that may be claimed now: the handler takes the type and version, has not finished, is
-- due, and has passed the nearest earlier event of the key that is its own (invariant: order of a key; the nearest is
-- enough, since each one before it was passed in order), through event_queue_key. An event that was given up as a whole,
-- not by one of its handlers, counts as a dead letter of each; one that was given up by others and that this handler has
-- not run on is none of its own. `lost`: its attempts are used up.
-- $9 now, $2 {owner, handlers: [{name, event_type, pattern, max_version, max_attempts, lease_ms, block}]}
WITH mine AS MATERIALIZED (
    SELECT value ->> 'name' AS name, value ->> 'event_type' AS event_type, value ->> 'pattern' AS pattern,
           value ->> 'max_version' AS max_version, value ->> 'max_attempts' AS max_attempts,
           value ->> 'lease_ms' AS lease_ms, value ->> 'block' AS block
    FROM json_each($2, '$.handlers')
)
INSERT INTO temp.pair (row_id, event_id, handler, owner, lease_until, lost)
SELECT q.id, q.event_id, h.name, $2 ->> 'owner', $9 + h.lease_ms,
       coalesce(p.attempts >= h.max_attempts, 0)
FROM temp.candidate AS c
CROSS JOIN event_queue AS q ON q.id = c.id
CROSS JOIN mine AS h ON q.event_type GLOB h.event_type AND q.event_version <= h.max_version
LEFT JOIN processed_events AS p ON p.event_id = q.event_id AND p.handler = h.name
WHERE (p.status IS NULL OR (p.status IN ('released', 'in_progress') AND p.lease_until <= $9))
  AND (q.event_key IS NULL OR NOT EXISTS (
        SELECT 1
        FROM event_queue AS e
        LEFT JOIN processed_events AS ep ON ep.event_id = e.event_id AND ep.handler = h.name
        WHERE e.id = CASE
                WHEN h.pattern THEN (
                    SELECT max(b.id) FROM event_queue AS b
                    WHERE b.event_key = q.event_key AND b.event_type GLOB h.event_type
                      AND b.status <> 'done' AND b.id < q.id
                      AND (b.status <> 'dead_lettered'
                        OR EXISTS (SELECT 1 FROM processed_events AS bp
                            WHERE bp.event_id = b.event_id AND bp.handler = h.name AND bp.status IN ('done', 'dead'))
                        OR (h.block AND NOT EXISTS (SELECT 1 FROM processed_events AS bd
                            WHERE bd.event_id = b.event_id AND bd.status = 'dead'))))
                ELSE (
                    SELECT max(b.id) FROM event_queue AS b
                    WHERE b.event_key = q.event_key AND b.event_type = q.event_type
                      AND b.status <> 'done' AND b.id < q.id
                      AND (b.status <> 'dead_lettered'
                        OR EXISTS (SELECT 1 FROM processed_events AS bp
                            WHERE bp.event_id = b.event_id AND bp.handler = h.name AND bp.status IN ('done', 'dead'))
                        OR (h.block AND NOT EXISTS (SELECT 1 FROM processed_events AS bd
                            WHERE bd.event_id = b.event_id AND bd.status = 'dead'))))
                END
          AND CASE ep.status WHEN 'done' THEN 0 WHEN 'dead' THEN h.block ELSE 1 END
    ))
ORDER BY c.due, c.id;
