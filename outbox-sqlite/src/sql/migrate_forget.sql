-- Notes that a migration was reversed.
DELETE FROM outbox_migrations WHERE version = ?
