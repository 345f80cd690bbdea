-- Retires a handler.
-- $1 handler
DELETE FROM outbox_handlers WHERE handler = $1;
