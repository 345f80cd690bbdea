-- When the next row of this worker will be due, after the moment of its last claim.
-- $1 {types: [{type}], handlers: [{name}], lease_ms, after}
SELECT min(due) FROM (
    SELECT (
        SELECT min(a.available_at) FROM event_queue AS a
        WHERE a.status = 'pending' AND a.event_type = t.value ->> 'type' AND a.waits_for = ''
          AND a.available_at > $1 ->> 'after'
          AND a.available_at <= 9223372036854775807 -- which text in a queue that was adopted is above
    ) AS due
    FROM json_each($1, '$.types') AS t
    UNION ALL
    SELECT (
        SELECT min(p.lease_until) FROM processed_events AS p
        WHERE p.status = 'released' AND p.handler = h.value ->> 'name'
          AND p.lease_until > $1 ->> 'after'
    )
    FROM json_each($1, '$.handlers') AS h
    UNION ALL
    SELECT (
        SELECT min(claimed_at) FROM event_queue
        WHERE status = 'processing' AND claimed_at > ($1 ->> 'after') - ($1 ->> 'lease_ms')
    ) + ($1 ->> 'lease_ms')
);
