-- Whether this database was ever migrated.
SELECT EXISTS (SELECT 1 FROM sqlite_schema WHERE type = 'table' AND lower(name) = 'outbox_migrations')
