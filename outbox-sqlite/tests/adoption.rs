//! A database that had a queue of its own: what is adopted, and what is refused with every difference named.

mod support;

use std::collections::BTreeMap;
use std::time::Duration;

use outbox_core::{Admin, CancellationToken, DeadLetterFilter, EventState, RuntimeHandler, Worker};
use outbox_sqlite::{MigrateError, SqliteOutbox, migrate, migrate_down};
use sqlx::SqliteConnection;
use support::{Database, number, run, schema, texts};

/// A queue as it may stand in an application: not STRICT, types of its own spelling, a column of its own.
const OWN_TABLE: &str = "CREATE TABLE Event_Queue (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    event_type   VARCHAR(100) NOT NULL,
    payload      TEXT NOT NULL,
    status       TEXT NOT NULL DEFAULT 'pending',
    attempts     INT NOT NULL DEFAULT 0,
    available_at BIGINT NOT NULL DEFAULT (unixepoch() * 1000),
    last_error   TEXT,
    created_at   BIGINT NOT NULL DEFAULT (unixepoch() * 1000),
    tenant       TEXT
);";

const OWN_ROWS: &str = "INSERT INTO event_queue (event_type, payload, status, tenant) VALUES
    ('a', '{\"n\": 1}', 'pending', 'x'), ('a', '{\"n\": 2}', 'processing', 'y'), ('b', '{\"n\": 3}', 'done', NULL);";

#[tokio::test]
async fn a_queue_with_the_columns_of_the_first_version_is_adopted_with_its_rows() {
    let (_database, mut connection) = Database::with(&own_queue()).await;
    let applied = migrate(&mut connection).await.unwrap();
    assert_eq!(applied[0].kept, ["event_queue"]);
    assert_eq!(applied[1].kept, [""; 0]);
    let rows = "SELECT payload || ' ' || status || ' ' || coalesce(tenant, '-') FROM event_queue ORDER BY id";
    let expected = ["{\"n\": 1} pending x", "{\"n\": 2} processing y", "{\"n\": 3} done -"];
    assert_eq!(texts(&mut connection, rows).await, expected);
    assert_eq!(number(&mut connection, "SELECT count(DISTINCT event_id) FROM event_queue").await, 3);
    assert_eq!(number(&mut connection, "SELECT count(*) FROM outbox_migrations").await, 2);
}

#[tokio::test]
async fn going_down_leaves_an_adopted_queue_as_it_was_found() {
    let (_database, mut connection) = Database::with(&own_queue()).await;
    let before = schema(&mut connection).await;
    migrate(&mut connection).await.unwrap();
    migrate_down(&mut connection, 0).await.unwrap();
    assert_eq!(schema(&mut connection).await, before);
    assert_eq!(number(&mut connection, "SELECT count(*) FROM event_queue").await, 3);
    // And the way up again is an adoption again.
    assert_eq!(migrate(&mut connection).await.unwrap()[0].kept, ["event_queue"]);
}

#[tokio::test]
async fn columns_of_the_second_version_that_are_there_are_kept_going_up_and_going_down() {
    let own = format!(
        "{OWN_TABLE} {OWN_ROWS}
        ALTER TABLE event_queue ADD COLUMN event_id TEXT;
        ALTER TABLE event_queue ADD COLUMN claimed_at INTEGER;
        UPDATE event_queue SET event_id = '{{67E55044-10B1-426F-9247-BB680E5FE0C8}}' WHERE id = 1;
        UPDATE event_queue SET event_id = '67e5504410b1426f9247bb680e5fe0c9', claimed_at = 7 WHERE id = 2"
    );
    let (_database, mut connection) = Database::with(&own).await;
    let before = schema(&mut connection).await;
    let applied = migrate(&mut connection).await.unwrap();
    assert_eq!(applied[1].kept, ["event_queue.claimed_at", "event_queue.event_id"]);
    let ids = texts(&mut connection, "SELECT event_id FROM event_queue ORDER BY id").await;
    assert_eq!(ids[0], "67e55044-10b1-426f-9247-bb680e5fe0c8");
    assert_eq!(ids[1], "67e55044-10b1-426f-9247-bb680e5fe0c9");
    assert_eq!(ids[2].len(), 36, "a row without an id is given one");
    assert_eq!(number(&mut connection, "SELECT claimed_at FROM event_queue WHERE id = 2").await, 7);
    migrate_down(&mut connection, 0).await.unwrap();
    assert_eq!(schema(&mut connection).await, before);
}

#[tokio::test]
async fn a_database_with_all_tables_whose_history_was_lost_is_adopted_as_a_whole() {
    let database = Database::new();
    let mut connection = database.connect().await;
    migrate(&mut connection).await.unwrap();
    run(&mut connection, "INSERT INTO event_queue (event_type, payload) VALUES ('a', '{}')").await;
    let before = schema(&mut connection).await;
    run(&mut connection, "DROP TABLE outbox_migrations").await;
    let applied = migrate(&mut connection).await.unwrap();
    assert!(applied[1].kept.contains(&"processed_events".to_owned()), "{applied:?}");
    assert_eq!(schema(&mut connection).await, before);
    assert_eq!(number(&mut connection, "SELECT count(event_id) FROM event_queue").await, 1);
}

#[tokio::test]
async fn every_difference_is_named_and_nothing_is_changed() {
    let cases: &[(&str, &str, &str)] = &[
        ("payload      TEXT NOT NULL,", "", "event_queue.payload (TEXT) is missing"),
        ("payload      TEXT", "payload BLOB", "event_queue.payload is BLOB, not TEXT"),
        ("payload      TEXT", "payload JSON", "event_queue.payload is JSON, not TEXT"),
        ("available_at BIGINT", "available_at TEXT", "event_queue.available_at is TEXT, not INTEGER"),
        ("available_at BIGINT", "available_at DATETIME", "event_queue.available_at is DATETIME, not INTEGER"),
        ("INTEGER PRIMARY KEY AUTOINCREMENT", "INT PRIMARY KEY", "event_queue.id is INT, not INTEGER"),
        (
            "INTEGER PRIMARY KEY AUTOINCREMENT",
            "INTEGER NOT NULL",
            "event_queue.id is not column 1 of the primary key",
        ),
        ("tenant       TEXT", "tenant TEXT NOT NULL", "event_queue.tenant is NOT NULL without a default"),
        (
            "last_error   TEXT",
            "last_error TEXT NOT NULL",
            "event_queue.last_error is NOT NULL, and must allow NULL",
        ),
        (" DEFAULT 'pending'", "", "event_queue.status has no default, and must default to 'pending'"),
        (
            "DEFAULT 'pending'",
            "DEFAULT 'new'",
            "event_queue.status defaults to \"new\", and must default to \"pending\"",
        ),
        ("DEFAULT 0", "DEFAULT 1", "event_queue.attempts defaults to 1, and must default to 0"),
        (
            "available_at BIGINT NOT NULL DEFAULT (unixepoch() * 1000)",
            "available_at BIGINT NOT NULL DEFAULT CURRENT_TIMESTAMP",
            "event_queue.available_at defaults to \"",
        ),
        (
            "DEFAULT 'pending'",
            "DEFAULT 'pending' CHECK (status IN ('pending', 'processing', 'done', 'failed'))",
            "event_queue refuses the status 'dead_lettered': CHECK constraint failed",
        ),
        ("tenant       TEXT", "event_key BLOB", "event_queue.event_key is BLOB, not TEXT"),
        ("tenant       TEXT", "lane TEXT", "event_queue.lane has no default, and must default to 'default'"),
        ("tenant       TEXT", "headers TEXT DEFAULT ''", "event_queue.headers defaults to \"\""),
        (
            "tenant       TEXT",
            "claimed_at INTEGER NOT NULL DEFAULT 0",
            "claimed_at is NOT NULL, and must allow NULL",
        ),
        ("tenant       TEXT", "event_version AS (2)", "event_queue.event_version is a generated column"),
    ];
    for (from, to, difference) in cases {
        assert!(OWN_TABLE.contains(from), "{from}");
        let (_database, mut connection) = Database::with(&OWN_TABLE.replacen(from, to, 1)).await;
        check_refused(&mut connection, difference, to).await;
    }
}

#[tokio::test]
async fn what_only_looks_like_ours_is_named() {
    for (own, difference) in [
        ("CREATE VIEW event_queue AS SELECT 1 AS id", "event_queue is a view, not a table"),
        ("CREATE TABLE x (y); CREATE INDEX event_queue ON x (y)", "event_queue is an index, not a table"),
        (
            "CREATE TABLE event_queue (id INTEGER PRIMARY KEY, event_type TEXT NOT NULL) WITHOUT ROWID",
            "event_queue is WITHOUT ROWID",
        ),
        ("CREATE TABLE outbox_handlers (name TEXT)", "outbox_handlers.handler (TEXT) is missing"),
        (
            "CREATE TABLE processed_events (event_id TEXT PRIMARY KEY, handler TEXT)",
            "processed_events.handler is not column 2 of the primary key",
        ),
    ] {
        let (_database, mut connection) = Database::with(own).await;
        check_refused(&mut connection, difference, own).await;
    }
    for (more, difference) in [
        (
            "CREATE INDEX event_queue_key ON event_queue (tenant)",
            "index event_queue_key is not `CREATE INDEX event_queue_key ON event_queue (event_key",
        ),
        ("CREATE TABLE event_queue_key (x)", "event_queue_key is a table, not an index"),
        (
            "UPDATE event_queue SET status = 'finished' WHERE id = 3",
            "event_queue.status is 'finished' in 1 rows",
        ),
        (
            "ALTER TABLE event_queue ADD COLUMN event_id TEXT; UPDATE event_queue SET event_id = 'x'",
            "event_queue.event_id repeats another row's id in 2 rows",
        ),
    ] {
        let (_database, mut connection) = Database::with(&format!("{} {more}", own_queue())).await;
        check_refused(&mut connection, difference, more).await;
    }
}

#[tokio::test]
async fn all_differences_come_in_one_message() {
    let own = OWN_TABLE.replacen("payload      TEXT", "payload BLOB", 1).replacen(
        "attempts     INT",
        "attempts REAL",
        1,
    );
    let (_database, mut connection) = Database::with(&own).await;
    let error = migrate(&mut connection).await.unwrap_err();
    let MigrateError::Differs { differences } = &error else { panic!("{error}") };
    assert_eq!(
        differences,
        &["event_queue.payload is BLOB, not TEXT", "event_queue.attempts is REAL, not INTEGER"]
    );
    assert_eq!(
        error.to_string(),
        "the database holds tables of the outbox's names that differ from what it needs:\n  \
         event_queue.payload is BLOB, not TEXT\n  event_queue.attempts is REAL, not INTEGER\n\
         change them so, or rename them"
    );
}

async fn check_refused(connection: &mut SqliteConnection, difference: &str, case: &str) {
    let before = schema(connection).await;
    let error = migrate(connection).await.expect_err(case);
    let MigrateError::Differs { differences } = &error else { panic!("{case}: {error}") };
    assert!(differences.iter().any(|one| one.contains(difference)), "{case}: {differences:#?}");
    assert_eq!(schema(connection).await, before, "{case}");
}

fn own_queue() -> String {
    format!("{OWN_TABLE} {OWN_ROWS}")
}

/// A queue that takes anything, with rows that hold it.
const ODD_QUEUE: &str = "CREATE TABLE event_queue (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    event_type   TEXT,
    payload      TEXT,
    status       TEXT DEFAULT 'pending',
    attempts     INTEGER DEFAULT 0,
    available_at INTEGER DEFAULT (unixepoch() * 1000),
    last_error   TEXT,
    created_at   INTEGER DEFAULT (unixepoch() * 1000),
    event_id     TEXT
);
INSERT INTO event_queue (event_type, payload, available_at, created_at) VALUES
    ('t', NULL, 1, 1),
    ('t', x'5b315d', 2, 2),
    ('t', '[2]', 'infinity', 'infinity'),
    ('t', '[3]', -1, -1),
    ('t', '[4]', 4, 316541347200000),
    ('t', '[5]', 316541347200000, 5),
    ('t', 6, 6, x'00'),
    (NULL, '[7]', 7, 7),
    ('t', '[8]', 8, 8);
INSERT INTO event_queue (event_type, payload, available_at, event_id) VALUES
    ('t', '[9]', 9, '67E55044-10B1-426F-9247-BB680E5FE0C8'),
    ('t', '[10]', 10, 'urn:uuid:67e55044-10b1-426f-9247-bb680e5fe0c9'),
    ('t', '[11]', 11, 'order 11');";

#[tokio::test]
async fn pending_rows_of_an_adopted_queue_are_handled_and_odd_ones_keep_nothing_from_working() {
    let (database, mut connection) = Database::with(ODD_QUEUE).await;
    let store = SqliteOutbox::connect(&database.url()).await.unwrap();
    store.migrate().await.unwrap();
    // What a foreign writer adds later is brought to one form when it is claimed.
    run(
        &mut connection,
        "INSERT INTO event_queue (event_type, payload, event_id) VALUES
            ('t', '[12]', '{67E55044-10B1-426F-9247-BB680E5FE0CA}'),
            ('t', '[13]', '67E5504410B1426F9247BB680E5FE0C8'),
            ('t', '[14]', NULL)",
    )
    .await;
    let (tell, mut told) = tokio::sync::mpsc::unbounded_channel();
    let handler = RuntimeHandler::new("h", "*", move |payload, delivery| {
        let sent = tell.send((payload, delivery.event_id.to_string()));
        async move { sent.map_err(|_| "nobody listens") }
    });
    let worker = Worker::builder(store.bus(), store.ledger()).only_given_handlers().runtime_handler(handler);
    let worker = worker.build().unwrap();
    let shutdown = CancellationToken::new();
    let running = tokio::spawn({
        let (worker, shutdown) = (worker.clone(), shutdown.clone());
        async move { worker.run(shutdown).await }
    });
    let mut handled = BTreeMap::new();
    while handled.len() < 9 {
        let next = tokio::time::timeout(Duration::from_secs(20), told.recv()).await;
        let (payload, id) = next.unwrap_or_else(|_| panic!("handled only {handled:?}")).unwrap();
        assert_eq!(handled.insert(payload.clone(), id), None, "{payload} came twice");
    }
    let payloads: Vec<_> = handled.keys().map(String::as_str).collect();
    assert_eq!(payloads, ["6", "[10]", "[12]", "[14]", "[1]", "[3]", "[4]", "[8]", "[9]"]);
    for (payload, end) in [("[9]", 8), ("[10]", 9), ("[12]", 10)] {
        assert_eq!(handled[payload], format!("67e55044-10b1-426f-9247-bb680e5fe0c{end:x}"));
    }
    until(&mut connection, "SELECT count(*) = 3 FROM event_queue WHERE status = 'dead_lettered'").await;
    shutdown.cancel();
    running.await.unwrap().unwrap();

    // What cannot be handled is there for an operator to see.
    let admin = store.admin();
    let dead = admin.dead_letters(&DeadLetterFilter::default(), 10).await.unwrap();
    let mut reasons: Vec<_> = dead.iter().map(|letter| letter.reason.as_str()).collect();
    reasons.sort_unstable();
    assert!(reasons[0].starts_with("\"order 11\" is not an event id"), "{reasons:?}");
    assert!(reasons[1].contains("\"67E5504410B1426F9247BB680E5FE0C8\" is not in the form"), "{reasons:?}");
    assert_eq!(reasons[2], "payload is NULL");
    let status = admin.status().await.unwrap();
    assert_eq!(
        (
            status.count(EventState::Done),
            status.count(EventState::DeadLettered),
            status.count(EventState::Pending)
        ),
        (9, 3, 3),
        "{status:?}"
    );
    for id in texts(&mut connection, "SELECT event_id FROM event_queue WHERE event_id LIKE '%-%'").await {
        let explanation = admin.explain(id.parse().unwrap()).await.unwrap().expect("it is there");
        assert!(explanation.to_string().contains(&id), "{explanation}");
    }
    assert_eq!(admin.discard(&DeadLetterFilter::default()).await.unwrap(), 3);
    assert_eq!(admin.status().await.unwrap().dead_letters, 0);
}

/// Waits, at most 20 s, until the query gives 1.
async fn until(connection: &mut SqliteConnection, query: &str) {
    let deadline = tokio::time::Instant::now() + Duration::from_secs(20);
    while number(connection, query).await != 1 {
        assert!(tokio::time::Instant::now() < deadline, "not within 20 s: {query}");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
