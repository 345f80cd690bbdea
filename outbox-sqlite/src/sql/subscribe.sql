-- Lists a worker's handlers, so that rows wait for them. Those that are new are seen when waiting rows have been looked at
-- again.
-- $1 now, $2 [{name, event_type}], $3 whether that is yet to come
INSERT INTO outbox_handlers (event_type, handler, first_seen, last_seen)
SELECT value ->> 'event_type', value ->> 'name', $1, iif($3, 0, $1)
FROM json_each($2)
WHERE true
ON CONFLICT (event_type, handler) DO UPDATE SET last_seen = iif($3, last_seen, excluded.last_seen);
