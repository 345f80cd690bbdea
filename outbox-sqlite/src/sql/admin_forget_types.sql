-- The types and patterns for which a handler is listed.
-- $1 handler
SELECT json_group_array(event_type) FROM outbox_handlers WHERE handler = $1;
