-- Notes that a migration was applied.
INSERT INTO outbox_migrations (version, name, checksum, applied_at, kept) VALUES (?, ?, ?, ?, ?)
