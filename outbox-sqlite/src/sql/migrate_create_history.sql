-- Which migrations this database has. A table of our own: the application's `_sqlx_migrations` is left alone.
-- `checksum` is the SHA-256 of the .up.sql with Unix line ends; `kept` a JSON array of what was there already when the
-- migration ran, which it left as it was and which reversing it leaves, too.
CREATE TABLE IF NOT EXISTS outbox_migrations (
    version    INTEGER PRIMARY KEY,
    name       TEXT    NOT NULL,
    checksum   TEXT    NOT NULL,
    applied_at INTEGER NOT NULL,
    kept       TEXT    NOT NULL DEFAULT '[]'
) STRICT
