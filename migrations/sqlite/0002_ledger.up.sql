-- Identity, order and leases for the queue; the ledger; the handlers that rows wait for.
ALTER TABLE event_queue ADD COLUMN event_id TEXT;
ALTER TABLE event_queue ADD COLUMN event_version INTEGER NOT NULL DEFAULT 1;
ALTER TABLE event_queue ADD COLUMN event_key TEXT;
ALTER TABLE event_queue ADD COLUMN lane TEXT NOT NULL DEFAULT 'default';
ALTER TABLE event_queue ADD COLUMN headers TEXT NOT NULL DEFAULT '{}';
ALTER TABLE event_queue ADD COLUMN claimed_at INTEGER;
ALTER TABLE event_queue ADD COLUMN claimed_by TEXT;
ALTER TABLE event_queue ADD COLUMN finished_at INTEGER;
-- What a pending row waits for beside its due time. '': any worker of its type. 'handler': the handlers that have not
-- finished, each due as its released row in the ledger says. 'key': earlier events of its key. 'version:2': a worker
-- that knows version 2. A claim reads only the ranges of the index that hold something for it, however many rows wait.
ALTER TABLE event_queue ADD COLUMN waits_for TEXT NOT NULL DEFAULT '';

-- Ids that a queue had before, in the one form that is compared: hyphenated and in lower case. What is no UUID stays.
UPDATE event_queue SET event_id = substr(digits, 1, 8) || '-' || substr(digits, 9, 4) || '-' || substr(digits, 13, 4)
    || '-' || substr(digits, 17, 4) || '-' || substr(digits, 21)
FROM (
    SELECT id AS row, lower(CASE typeof(event_id) WHEN 'blob' THEN hex(event_id)
        ELSE replace(replace(replace(replace(event_id, 'urn:uuid:', ''), '{', ''), '}', ''), '-', '') END) AS digits
    FROM event_queue WHERE event_id IS NOT NULL
)
WHERE id = row AND length(digits) = 32 AND digits NOT GLOB '*[^0-9a-f]*';

-- A random UUID (version 4) for every row that is there.
UPDATE event_queue SET event_id = lower(
    hex(randomblob(4)) || '-' || hex(randomblob(2)) || '-4' || substr(hex(randomblob(2)), 2) || '-'
    || substr('89ab', 1 + (random() & 3), 1) || substr(hex(randomblob(2)), 2) || '-' || hex(randomblob(6))
) WHERE event_id IS NULL;

-- What was finished before counts as finished now, so that retention begins with this migration.
UPDATE event_queue SET finished_at = CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)
WHERE status IN ('done', 'dead_lettered') AND finished_at IS NULL;

-- NULLs are distinct, so rows of foreign writers may lack an id until they are first claimed.
CREATE UNIQUE INDEX event_queue_event_id ON event_queue (event_id);
-- Serves the claim: one range per (type, what is waited for), in order of due time.
CREATE INDEX event_queue_available ON event_queue (event_type, waits_for, available_at, id) WHERE status = 'pending';
-- Serves the takeover of rows whose worker is gone. NULL sorts first and counts as expired.
CREATE INDEX event_queue_processing ON event_queue (claimed_at) WHERE status = 'processing';
-- Serves the order of a key: the nearest earlier unfinished event, the next waiting one.
CREATE INDEX event_queue_key ON event_queue (event_key, event_type, id) WHERE event_key IS NOT NULL AND status <> 'done';
-- Serves pruning.
CREATE INDEX event_queue_done ON event_queue (finished_at) WHERE status = 'done';
-- Serves pruning, and the list of events that were dead-lettered as a whole.
CREATE INDEX event_queue_dead ON event_queue (finished_at) WHERE status = 'dead_lettered';

CREATE TABLE processed_events (
    event_id     TEXT    NOT NULL,
    handler      TEXT    NOT NULL,
    status       TEXT    NOT NULL,
    started_at   INTEGER NOT NULL,
    processed_at INTEGER,
    lease_until  INTEGER,
    owner        TEXT,
    attempts     INTEGER NOT NULL DEFAULT 0,
    last_error   TEXT,
    PRIMARY KEY (event_id, handler)
) STRICT, WITHOUT ROWID;
-- Serves the claim: which handler is due again when.
CREATE INDEX processed_events_released ON processed_events (handler, lease_until) WHERE status = 'released';
-- Serves pruning, and the list of dead letters.
CREATE INDEX processed_events_finished ON processed_events (status, processed_at) WHERE processed_at IS NOT NULL;

-- Which handlers a row of a type waits for. `event_type` may be a pattern with `*`.
CREATE TABLE outbox_handlers (
    event_type TEXT    NOT NULL,
    handler    TEXT    NOT NULL,
    first_seen INTEGER NOT NULL,
    last_seen  INTEGER NOT NULL,
    PRIMARY KEY (event_type, handler)
) STRICT, WITHOUT ROWID;
