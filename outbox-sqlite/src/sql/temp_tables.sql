-- Scratch space of the write connection: sets of rows that several statements of one transaction work on.
CREATE TEMP TABLE IF NOT EXISTS candidate (id INTEGER PRIMARY KEY, due INTEGER NOT NULL);
CREATE TEMP TABLE IF NOT EXISTS pair (
    position     INTEGER PRIMARY KEY,
    row_id       INTEGER NOT NULL,
    event_id     TEXT    NOT NULL,
    handler      TEXT    NOT NULL,
    owner        TEXT    NOT NULL,
    lease_until  INTEGER NOT NULL,
    lost         INTEGER NOT NULL
);
CREATE TEMP TABLE IF NOT EXISTS touched (id INTEGER PRIMARY KEY, examined INTEGER NOT NULL);
