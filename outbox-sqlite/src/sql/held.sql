-- Where claims stand, for those whose change had no effect: state, and whether it is still under the caller's token.
-- $1 [[event_id, handler, owner, started_at]]
SELECT json_group_array(json_array(
    c.key, p.status, p.owner IS c.value ->> 2 AND p.started_at IS c.value ->> 3))
FROM json_each($1) AS c
LEFT JOIN processed_events AS p ON p.event_id = c.value ->> 0 AND p.handler = c.value ->> 1;
