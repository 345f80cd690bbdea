-- Of the next waiting rows of one type and kind, those that nothing will wake, as what they wait for has gone by itself:
-- behind an event of their key that was deleted, pruned or finished by hand, or whose dead letter blocks no more; for a
-- handler whose ledger row is gone; for a version that is long known. And the last row that was looked at.
-- $1 now, $2 [{name, event_type, pattern, max_version, block}], $3 type, $4 waits_for, $5 $6 the place: available_at, id,
-- $7 most, $8 whether claims are granted
WITH mine AS MATERIALIZED (
    SELECT value ->> 'name' AS name, value ->> 'event_type' AS event_type, value ->> 'pattern' AS pattern,
           value ->> 'max_version' AS max_version, value ->> 'block' AS block
    FROM json_each($2)
    WHERE $3 GLOB value ->> 'event_type'
),
page AS MATERIALIZED (
    SELECT id, event_id, event_type, event_version, event_key, available_at
    FROM event_queue INDEXED BY event_queue_available
    WHERE status = 'pending' AND event_type = $3 AND waits_for = $4
      AND (available_at, id) > ($5, $6)
      AND available_at <= 9223372036854775807 -- which text in a queue that was adopted is above
    ORDER BY available_at, id
    LIMIT $7
)
-- `json` since newer SQLite takes the JSON of a subquery for plain text.
SELECT json_object('rows', json((
    SELECT json_group_array(q.id)
    FROM page AS q
    WHERE CASE
        WHEN $4 = 'handler' THEN NOT EXISTS (
            SELECT 1 FROM processed_events AS p WHERE p.event_id = q.event_id AND p.status = 'released')
        WHEN $4 <> 'key' THEN EXISTS (SELECT 1 FROM mine AS h WHERE q.event_version <= h.max_version)
        -- As in receive_plain.sql.
        WHEN NOT $8 THEN NOT EXISTS (
            SELECT 1 FROM event_queue AS e
            WHERE e.event_key = q.event_key AND e.event_type = q.event_type AND e.id < q.id
              AND e.status <> 'done' AND e.status IN ('pending', 'processing'))
        -- As in receive_pairs.sql.
        ELSE EXISTS (
            SELECT 1
            FROM mine AS h
            LEFT JOIN processed_events AS p ON p.event_id = q.event_id AND p.handler = h.name
            WHERE q.event_version <= h.max_version
              AND (p.status IS NULL OR (p.status IN ('released', 'in_progress') AND p.lease_until <= $1))
              -- The nearest of the own type first, as looking through all types of a key may take long.
              AND CASE
                WHEN EXISTS (
                    SELECT 1
                    FROM event_queue AS e
                    LEFT JOIN processed_events AS ep ON ep.event_id = e.event_id AND ep.handler = h.name
                    WHERE e.id = (
                            SELECT max(b.id) FROM event_queue AS b
                            WHERE b.event_key = q.event_key AND b.event_type = q.event_type
                              AND b.status <> 'done' AND b.id < q.id
                              AND (b.status <> 'dead_lettered'
                                OR EXISTS (SELECT 1 FROM processed_events AS bp
                                    WHERE bp.event_id = b.event_id AND bp.handler = h.name
                                      AND bp.status IN ('done', 'dead'))
                                OR (h.block AND NOT EXISTS (SELECT 1 FROM processed_events AS bd
                                    WHERE bd.event_id = b.event_id AND bd.status = 'dead'))))
                      AND CASE ep.status WHEN 'done' THEN 0 WHEN 'dead' THEN h.block ELSE 1 END
                ) THEN 0
                WHEN NOT h.pattern THEN 1
                ELSE NOT EXISTS (
                    SELECT 1
                    FROM event_queue AS e
                    LEFT JOIN processed_events AS ep ON ep.event_id = e.event_id AND ep.handler = h.name
                    WHERE e.id = (
                            SELECT max(b.id) FROM event_queue AS b
                            WHERE b.event_key = q.event_key AND b.event_type GLOB h.event_type
                              AND b.status <> 'done' AND b.id < q.id
                              AND (b.status <> 'dead_lettered'
                                OR EXISTS (SELECT 1 FROM processed_events AS bp
                                    WHERE bp.event_id = b.event_id AND bp.handler = h.name
                                      AND bp.status IN ('done', 'dead'))
                                OR (h.block AND NOT EXISTS (SELECT 1 FROM processed_events AS bd
                                    WHERE bd.event_id = b.event_id AND bd.status = 'dead'))))
                      AND CASE ep.status WHEN 'done' THEN 0 WHEN 'dead' THEN h.block ELSE 1 END
                )
                END
        )
        END
)), 'last', json((
    SELECT json_array(available_at, id) FROM page ORDER BY available_at DESC, id DESC LIMIT 1
))) AS value;
