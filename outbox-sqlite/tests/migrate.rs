//! Migrating up and down, by one process and by several at the same time.

mod support;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use outbox_core::StoreErrorKind;
use outbox_sqlite::{MigrateError, migrate, migrate_down};
use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, Connection};
use support::{Database, Process, child_database, connect, number, run, schema, texts};

const VERSIONS: &str = "SELECT version || ' ' || name FROM outbox_migrations ORDER BY version";
const EVERYTHING: [&str; 2] = ["1 event_queue", "2 ledger"];

#[tokio::test]
async fn an_empty_file_gets_every_table_and_a_second_run_finds_nothing_to_do() {
    let database = Database::new();
    let mut connection = database.connect().await;
    let applied = migrate(&mut connection).await.unwrap();
    assert_eq!(applied.iter().map(|one| one.version).collect::<Vec<_>>(), [1, 2]);
    assert!(applied.iter().all(|one| one.kept.is_empty()));
    assert_eq!(migrate(&mut connection).await.unwrap(), []);
    assert_eq!(texts(&mut connection, VERSIONS).await, EVERYTHING);
}

#[tokio::test]
async fn a_start_that_finds_nothing_to_do_waits_for_no_lock() {
    let database = Database::new();
    let mut writer = database.connect().await;
    migrate(&mut writer).await.unwrap();
    run(&mut writer, "BEGIN IMMEDIATE").await;
    let mut other = impatient(&database).await;
    assert_eq!(migrate(&mut other).await.unwrap(), []);
}

#[tokio::test]
async fn the_applications_own_migrations_are_left_alone() {
    let own = "CREATE TABLE _sqlx_migrations (version BIGINT PRIMARY KEY, checksum BLOB);
        INSERT INTO _sqlx_migrations VALUES (1, x'00'), (20260101, x'01')";
    let (_database, mut connection) = Database::with(own).await;
    migrate(&mut connection).await.unwrap();
    migrate_down(&mut connection, 0).await.unwrap();
    assert_eq!(number(&mut connection, "SELECT count(*) FROM _sqlx_migrations").await, 2);
}

#[tokio::test]
async fn going_down_and_up_again_on_filled_tables_keeps_what_the_older_version_has_a_place_for() {
    let database = Database::new();
    let mut connection = database.connect().await;
    migrate(&mut connection).await.unwrap();
    migrate_down(&mut connection, 1).await.unwrap();
    let plain = schema(&mut connection).await;
    let columns = "SELECT group_concat(name || type || \"notnull\" || coalesce(dflt_value, '') || pk)
        FROM pragma_table_info('event_queue')";
    let plain_columns = texts(&mut connection, columns).await;
    run(&mut connection, "INSERT INTO event_queue (event_type, payload, status, attempts) VALUES
        ('a', '1', 'pending', 0), ('a', '2', 'processing', 3), ('a', '3', 'done', 1), ('a', '4', 'dead_lettered', 10)")
        .await;
    migrate(&mut connection).await.unwrap();
    run(
        &mut connection,
        "INSERT INTO processed_events (event_id, handler, status, started_at)
        SELECT event_id, 'h', 'done', 1 FROM event_queue;
        INSERT INTO outbox_handlers VALUES ('a', 'h', 1, 1);
        UPDATE event_queue SET event_key = 'k', claimed_by = 'w', claimed_at = 5, headers = '{\"a\":\"b\"}'",
    )
    .await;

    let reversed = migrate_down(&mut connection, 1).await.unwrap();
    assert_eq!(reversed.iter().map(|one| one.version).collect::<Vec<_>>(), [2]);
    assert_eq!(schema(&mut connection).await, plain);
    assert_eq!(texts(&mut connection, columns).await, plain_columns);
    let rows = "SELECT payload || ' ' || status || ' ' || attempts FROM event_queue ORDER BY id";
    assert_eq!(
        texts(&mut connection, rows).await,
        ["1 pending 0", "2 pending 3", "3 done 1", "4 dead_lettered 10"]
    );

    migrate(&mut connection).await.unwrap();
    assert_eq!(texts(&mut connection, rows).await.len(), 4);
    migrate_down(&mut connection, 0).await.unwrap();
    assert_eq!(schema(&mut connection).await, [""; 0]);
}

#[tokio::test]
async fn rows_of_the_plain_queue_get_ids_and_finished_ones_the_time_from_which_retention_counts() {
    let (_database, mut connection) = at_version_1().await;
    run(
        &mut connection,
        "INSERT INTO event_queue (event_type, payload, status) VALUES
        ('a', '1', 'pending'), ('a', '2', 'done'), ('a', '3', 'dead_lettered')",
    )
    .await;
    migrate(&mut connection).await.unwrap();
    let ids = texts(&mut connection, "SELECT DISTINCT event_id FROM event_queue").await;
    assert_eq!(ids.len(), 3);
    for id in ids {
        let parsed: outbox_core::EventId = id.parse().unwrap();
        assert_eq!(parsed.to_string(), id, "ids are stored in the form that is compared");
        assert_eq!(parsed.as_uuid().get_version_num(), 4);
    }
    let finished = "SELECT count(*) FROM event_queue WHERE abs(finished_at - unixepoch() * 1000) < 60000";
    assert_eq!(number(&mut connection, finished).await, 2);
}

#[tokio::test]
async fn a_database_newer_than_the_library_is_named_and_not_touched() {
    let database = Database::new();
    let mut connection = database.connect().await;
    migrate(&mut connection).await.unwrap();
    run(&mut connection, "INSERT INTO outbox_migrations VALUES (3, 'future', 'x', 0, '[]')").await;
    let before = schema(&mut connection).await;
    for error in
        [migrate(&mut connection).await.unwrap_err(), migrate_down(&mut connection, 0).await.unwrap_err()]
    {
        assert!(matches!(error, MigrateError::Newer { found: 3, known: 2 }), "{error:?}");
        assert!(error.to_string().contains("deploy a newer library"), "{error}");
    }
    assert_eq!(schema(&mut connection).await, before);
}

#[tokio::test]
async fn a_migration_that_was_altered_is_refused_by_name() {
    let database = Database::new();
    let mut connection = database.connect().await;
    migrate(&mut connection).await.unwrap();
    run(&mut connection, "UPDATE outbox_migrations SET checksum = 'other' WHERE version = 1").await;
    let error = migrate(&mut connection).await.unwrap_err().to_string();
    assert!(error.contains("0001_event_queue") && error.contains("altered"), "{error}");
}

#[tokio::test]
async fn a_version_that_does_not_exist_cannot_be_gone_down_to() {
    let database = Database::new();
    let error = migrate_down(&mut database.connect().await, 9).await.unwrap_err();
    assert_eq!(error.to_string(), "there is no version 9 of the outbox's tables: 0 (none) to 2");
    assert_eq!(error.kind(), StoreErrorKind::Invalid);
}

#[tokio::test]
async fn a_migration_waits_for_a_lock_for_a_bounded_time_and_then_says_so() {
    let database = Database::new();
    let mut writer = database.connect().await;
    run(&mut writer, "BEGIN IMMEDIATE").await;
    let mut other = impatient(&database).await;
    let error = migrate(&mut other).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Busy);
    assert_eq!(error.to_string(), "could not begin a migration: another connection holds the lock");

    let waiting = tokio::spawn(async move { migrate(&mut other).await.map(|applied| applied.len()) });
    tokio::time::sleep(Duration::from_millis(150)).await;
    run(&mut writer, "ROLLBACK").await;
    assert_eq!(waiting.await.unwrap().unwrap(), 2);
}

#[tokio::test]
async fn a_migration_that_is_cancelled_leaves_the_connection_usable() {
    let database = Database::new();
    let mut connection = database.connect().await;
    let mut polls = 0;
    loop {
        // One poll more each time, so that every await is the last once.
        polls += 1;
        let mut migration = Box::pin(migrate(&mut connection));
        let mut left = polls;
        let cut = std::future::poll_fn(|context| {
            left -= 1;
            match migration.as_mut().poll(context) {
                std::task::Poll::Pending if left > 0 => std::task::Poll::Pending,
                std::task::Poll::Pending => std::task::Poll::Ready(None),
                std::task::Poll::Ready(result) => std::task::Poll::Ready(Some(result)),
            }
        })
        .await;
        drop(migration);
        match cut {
            None => assert_eq!(number(&mut connection, "SELECT 1").await, 1),
            Some(result) => {
                result.unwrap();
                break;
            }
        }
    }
    assert!(polls > 5, "the migration was never cut");
    assert_eq!(texts(&mut connection, VERSIONS).await, EVERYTHING);
}

#[tokio::test]
async fn eight_processes_that_start_at_once_all_run_and_each_migration_is_recorded_once() {
    for version in [0, 1] {
        let database = Database::new();
        if version == 1 {
            let mut connection = database.connect().await;
            migrate(&mut connection).await.unwrap();
            migrate_down(&mut connection, 1).await.unwrap();
            connection.close().await.unwrap();
        }
        let start = (now_ms() + 1_000).to_string();
        let processes: Vec<Process> = (0..8)
            .map(|_| Process::start("child_migrates", &database.file(), &[("OUTBOX_TEST_START", &start)]))
            .collect();
        for process in processes {
            process.succeed();
        }
        let mut connection = database.connect().await;
        assert_eq!(texts(&mut connection, VERSIONS).await, EVERYTHING, "from version {version}");
        assert_eq!(migrate(&mut connection).await.unwrap(), []);
    }
}

#[tokio::test]
async fn a_process_killed_during_a_migration_leaves_a_consistent_database_behind() {
    let (database, mut connection) = at_version_1().await;
    run(
        &mut connection,
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 60000)
        INSERT INTO event_queue (event_type, payload) SELECT 'a', '{}' FROM n",
    )
    .await;
    let before = schema(&mut connection).await;
    connection.close().await.unwrap();
    let mut cut = 0;
    for kill in 1..=8 {
        let process = Process::start("child_migrates", &database.file(), &[]);
        // The write-ahead log grows as the migration proceeds.
        let wal = database.dir().join("app.db-wal");
        let deadline = std::time::Instant::now() + Duration::from_secs(30);
        while std::fs::metadata(&wal).map_or(0, |file| file.len()) < kill * 1_000_000 {
            assert!(std::time::Instant::now() < deadline, "the migration does not begin");
            if texts(&mut connect(&database.file()).await, VERSIONS).await.len() == 2 {
                break;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        process.kill();
        let mut connection = connect(&database.file()).await;
        let versions = texts(&mut connection, VERSIONS).await;
        assert_eq!(texts(&mut connection, "PRAGMA integrity_check").await, ["ok"]);
        if versions == EVERYTHING {
            break;
        }
        assert_eq!(versions, ["1 event_queue"]);
        assert_eq!(schema(&mut connection).await, before, "nothing of the cut migration is there");
        cut += 1;
    }
    assert!(cut > 0, "no process was killed in time");
    let mut connection = connect(&database.file()).await;
    migrate(&mut connection).await.unwrap();
    assert_eq!(texts(&mut connection, VERSIONS).await, EVERYTHING);
    assert_eq!(number(&mut connection, "SELECT count(DISTINCT event_id) FROM event_queue").await, 60_000);
}

/// The body of a child process: migrates at the given moment.
#[tokio::test]
#[ignore = "runs in a child process"]
async fn child_migrates() {
    let Some(file) = child_database() else { return };
    if let Ok(start) = std::env::var("OUTBOX_TEST_START") {
        let wait = start.parse::<u64>().unwrap().saturating_sub(now_ms());
        tokio::time::sleep(Duration::from_millis(wait)).await;
    }
    let options = SqliteConnectOptions::new().filename(file).create_if_missing(true);
    let mut connection = options.connect().await.unwrap();
    migrate(&mut connection).await.unwrap();
}

async fn at_version_1() -> (Database, sqlx::SqliteConnection) {
    let database = Database::new();
    let mut connection = database.connect().await;
    migrate(&mut connection).await.unwrap();
    migrate_down(&mut connection, 1).await.unwrap();
    (database, connection)
}

/// A connection that is told at once when the database is locked.
async fn impatient(database: &Database) -> sqlx::SqliteConnection {
    let options = SqliteConnectOptions::new().filename(database.file()).busy_timeout(Duration::ZERO);
    options.connect().await.unwrap()
}

fn now_ms() -> u64 {
    u64::try_from(SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_millis()).unwrap()
}
