//! Opening a database: what is set, what is refused, and with which words.

mod support;

use std::time::Duration;

use outbox_core::{NewEvent, StoreError, StoreErrorKind};
use outbox_sqlite::{SqliteOptions, SqliteOutbox, Synchronous};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions, SqliteSynchronous};
use sqlx::{Row, SqlitePool};
use support::{Database, Process, child_database, number, texts};

async fn open(url: &str) -> Result<SqlitePool, StoreError> {
    SqliteOutbox::connect(url).await.map(|store| store.pool().clone())
}

async fn open_with(url: &str, options: SqliteOptions) -> Result<SqlitePool, StoreError> {
    SqliteOutbox::connect_with(url, options).await.map(|store| store.pool().clone())
}

async fn pragma(pool: &SqlitePool, name: &str) -> String {
    let row = sqlx::query(sqlx::AssertSqlSafe(format!("PRAGMA {name}"))).fetch_one(pool).await.unwrap();
    row.try_get::<i64, _>(0).map_or_else(|_| row.get(0), |number| number.to_string())
}

#[tokio::test]
async fn the_file_is_created_and_every_connection_has_the_documented_settings() {
    let dir = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}/app.db", dir.path().display());
    let pool = open(&url).await.unwrap();
    for (name, value) in [
        ("journal_mode", "wal"),
        ("synchronous", "2"),
        ("foreign_keys", "1"),
        ("busy_timeout", "5000"),
        ("journal_size_limit", "4194304"),
    ] {
        assert_eq!(pragma(&pool, name).await, value, "{name}");
    }
    assert_eq!(pool.options().get_max_connections(), 8);

    let options = SqliteOptions {
        synchronous: Synchronous::Normal,
        busy_timeout: Duration::from_millis(700),
        pool_size: 2,
        ..SqliteOptions::default()
    };
    let pool = open_with(&url, options).await.unwrap();
    assert_eq!(pragma(&pool, "synchronous").await, "1");
    assert_eq!(pragma(&pool, "busy_timeout").await, "700");
    assert_eq!(pool.options().get_max_connections(), 2);
}

#[tokio::test]
async fn a_database_in_memory_is_refused_with_the_reason_and_the_remedy_however_it_is_spelled() {
    for url in [
        "sqlite::memory:",
        "sqlite://:memory:",
        "sqlite://?mode=memory",
        "sqlite:shared.db?mode=memory&cache=shared",
        "sqlite:file::memory:",
        "sqlite:file:x%3Fmode=memory",
        "sqlite:file:%2Fx%3Fvfs=memdb",
        "sqlite:",
        "sqlite://",
    ] {
        let error = open(url).await.expect_err(url);
        assert_eq!(error.kind(), StoreErrorKind::Invalid, "{url}");
        let text = error.to_string();
        assert!(
            text.contains("vanishes with its last connection") && text.contains("MemoryOutbox"),
            "{url}: {text}"
        );
    }
}

#[tokio::test]
async fn what_is_no_sqlite_url_is_refused_without_repeating_a_password() {
    for (url, words) in [
        ("postgres://user:secret@host/db", "a url that begins with `postgres:` is not a SQLite database"),
        ("app.db", "\"app.db\" is not a SQLite database: write `sqlite://path/to/file.db`"),
        ("", "\"\" is not a SQLite database"),
        ("sqlite://app.db?mode=rws", "unknown value \"rws\" for `mode`"),
        ("sqlite://app.db?cache=shared", "`cache=shared` in the url"),
        ("sqlite://app.db?mode=ro", "the outbox writes to its database"),
        ("sqlite://app.db?immutable=1", "the outbox writes to its database"),
    ] {
        let error = open(url).await.expect_err(url);
        assert_eq!(error.kind(), StoreErrorKind::Invalid, "{url}");
        let text = outbox_core::chain(&error);
        assert!(text.contains(words) && !text.contains("secret"), "{url}: {text}");
    }
}

#[tokio::test]
async fn a_file_that_cannot_be_used_is_named_with_the_remedy() {
    let dir = tempfile::tempdir().unwrap();
    let path = |name: &str| dir.path().join(name);
    std::fs::write(path("letter.txt"), "Dear Sir or Madam, this is longer than a header of SQLite.").unwrap();
    std::fs::write(path("locked.db"), "").unwrap();
    let mut permissions = std::fs::metadata(path("locked.db")).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(path("locked.db"), permissions).unwrap();
    for (name, kind, words) in [
        ("letter.txt", StoreErrorKind::Corrupt, "the file is not a SQLite database"),
        ("locked.db", StoreErrorKind::ReadOnly, "is read-only: allow writing to it"),
        ("none/app.db", StoreErrorKind::Unavailable, "none; create it first"),
        (".", StoreErrorKind::Unavailable, "is a directory: name a file in it"),
        ("missing.db?mode=rw", StoreErrorKind::Unavailable, "cannot be opened"),
    ] {
        let file = path(name);
        let error = open(&format!("sqlite://{}", file.display())).await.expect_err(name);
        assert_eq!(error.kind(), kind, "{error}");
        let text = error.to_string();
        let shown = file.to_str().unwrap().split('?').next().unwrap();
        assert!(text.contains(words) && text.contains(shown), "{text}");
    }
    let letter = std::fs::read_to_string(path("letter.txt")).unwrap();
    assert!(letter.starts_with("Dear"), "the file that was no database is untouched");
}

#[tokio::test]
async fn settings_out_of_bounds_are_refused_before_anything_is_opened() {
    let options = SqliteOptions { pool_size: 0, ..SqliteOptions::default() };
    let error = open_with("sqlite://never.db", options).await.unwrap_err();
    assert_eq!(error.to_string(), "pool_size = 0: must be a whole number from 1 to 1000");
}

#[tokio::test]
async fn a_path_with_spaces_and_signs_is_opened_as_it_is_written() {
    let dir = tempfile::tempdir().unwrap();
    let pool = open(&format!("sqlite://{}/a%3Fb%20%23 c.db", dir.path().display())).await.unwrap();
    sqlx::query("CREATE TABLE t (x)").execute(&pool).await.unwrap();
    assert!(dir.path().join("a?b # c.db").exists());
}

#[tokio::test]
async fn a_pool_of_the_applications_keeps_its_settings() {
    let database = Database::new();
    let options = SqliteConnectOptions::new()
        .filename(database.file())
        .create_if_missing(true)
        .journal_mode(SqliteJournalMode::Delete)
        .synchronous(SqliteSynchronous::Off)
        .foreign_keys(false)
        .busy_timeout(Duration::from_millis(1234));
    let pool = SqlitePoolOptions::new().max_connections(1).connect_with(options).await.unwrap();
    let settings = async || {
        let mut values = Vec::new();
        for name in ["journal_mode", "synchronous", "foreign_keys", "busy_timeout", "journal_size_limit"] {
            values.push(pragma(&pool, name).await);
        }
        values
    };
    let before = settings().await;
    let store = SqliteOutbox::new(pool.clone());
    store.migrate().await.unwrap();
    store.enqueue_all(vec![NewEvent::raw("t", "{}")]).await.unwrap();
    assert_eq!(settings().await, before);
    assert_eq!(before[..4], ["delete", "0", "0", "1234"]);
}

#[tokio::test]
async fn a_pool_in_memory_is_refused_before_anything_is_written() {
    for url in ["sqlite::memory:", "sqlite:shared?mode=memory&cache=shared"] {
        let pool = SqlitePool::connect(url).await.unwrap();
        let store = SqliteOutbox::new(pool);
        for text in [
            store.migrate().await.unwrap_err().to_string(),
            store.enqueue_all(vec![NewEvent::raw("t", "{}")]).await.unwrap_err().to_string(),
        ] {
            assert!(text.contains("vanishes with its last connection"), "{url}: {text}");
        }
    }
}

#[tokio::test]
async fn a_database_that_was_not_migrated_says_what_to_do() {
    let database = Database::new();
    let store = SqliteOutbox::connect(&database.url()).await.unwrap();
    let error = store.enqueue_all(vec![NewEvent::raw("t", "{}")]).await.unwrap_err();
    assert!(error.to_string().contains("run `migrate()`"), "{error}");
}

#[tokio::test]
async fn eight_processes_that_open_a_new_file_at_once_all_succeed() {
    let database = Database::new();
    let processes: Vec<Process> =
        (0..8).map(|_| Process::start("child_opens_and_enqueues", &database.file(), &[])).collect();
    for process in processes {
        process.succeed();
    }
    let mut connection = database.connect().await;
    assert_eq!(number(&mut connection, "SELECT count(*) FROM event_queue").await, 8);
    assert_eq!(texts(&mut connection, "PRAGMA journal_mode").await, ["wal"]);
}

/// The body of a child process.
#[tokio::test]
#[ignore = "runs in a child process"]
async fn child_opens_and_enqueues() {
    let Some(file) = child_database() else { return };
    let store = SqliteOutbox::connect(&format!("sqlite://{}", file.display())).await.unwrap();
    store.migrate().await.unwrap();
    store.enqueue_all(vec![NewEvent::raw("t", "{}")]).await.unwrap();
}
