-- The types or patterns of handlers that are not listed yet, or were listed by a worker that did not come to look again at the
-- rows that wait (last_seen is 0 until then).
-- $1 [{name, event_type}]
SELECT h.value ->> 'event_type' AS event_type
FROM json_each($1) AS h
WHERE NOT EXISTS (
    SELECT 1 FROM outbox_handlers AS o
    WHERE o.event_type = h.value ->> 'event_type' AND o.handler = h.value ->> 'name' AND o.last_seen > 0
);
