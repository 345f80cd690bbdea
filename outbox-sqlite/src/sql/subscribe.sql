-- Lists a worker's handlers, so that rows wait for them.
-- $1 now, $2 [{name, event_type}]
INSERT INTO outbox_handlers (event_type, handler, first_seen, last_seen)
SELECT value ->> 'event_type', value ->> 'name', $1, $1
FROM json_each($2)
WHERE true
ON CONFLICT (event_type, handler) DO UPDATE SET last_seen = excluded.last_seen;
