-- The whole history, a row per migration.
SELECT version, name, checksum, kept FROM outbox_migrations ORDER BY version
