-- The answers to single claims, by their numbers.
-- $8 [{n, event_id, handler}]
SELECT 'claims' AS part, json_group_array(json_array(
    r.value ->> 'n',
    -(r.value ->> 'n') - 1 IN (SELECT row_id FROM temp.pair WHERE row_id < 0 AND NOT lost),
    p.status, p.started_at, p.attempts, p.lease_until)) AS value
FROM json_each($8) AS r
CROSS JOIN processed_events AS p ON p.event_id = r.value ->> 'event_id' AND p.handler = r.value ->> 'handler';
