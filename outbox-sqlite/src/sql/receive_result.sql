-- What was received: the events in order of due time with the claims that go with them, as JSON, and beside it their
-- payloads one after the other, since as JSON within JSON they would take longer than all the rest. The casts change
-- nothing in a STRICT table; in one that was adopted, JSON would refuse a BLOB, and with it everything received.
SELECT 'received' AS part, '{"events":' || events || ',"claims":' || (
        SELECT json_group_array(json_array(c.row_id, c.handler, p.started_at, p.attempts, p.lease_until))
        FROM temp.pair AS c
        CROSS JOIN processed_events AS p ON p.event_id = c.event_id AND p.handler = c.handler
        WHERE c.row_id > 0 AND NOT c.lost AND c.handler <> ''
    ) || ',"parked":' || (SELECT count(*) FROM temp.touched) || '}' AS value, payloads
FROM (
    SELECT json_group_array(json_array(
               q.id, CAST(q.event_id AS TEXT), CAST(q.event_type AS TEXT), CAST(q.event_version AS INTEGER),
               CAST(q.event_key AS TEXT), octet_length(CAST(q.payload AS TEXT)), CAST(q.headers AS TEXT),
               CAST(q.created_at AS INTEGER))) AS events,
           group_concat(CAST(q.payload AS TEXT), '') AS payloads
    FROM (
        SELECT row_id, min(position) AS position FROM temp.pair WHERE row_id > 0 AND NOT lost
        GROUP BY row_id ORDER BY min(position)
    ) AS taken
    CROSS JOIN event_queue AS q ON q.id = taken.row_id
);
