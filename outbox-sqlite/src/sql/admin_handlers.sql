-- The listed handlers.
SELECT event_type, handler, first_seen, last_seen FROM outbox_handlers ORDER BY handler, event_type;
