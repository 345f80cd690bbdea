//! What a handler does to its transaction stays its own affair.

use std::time::Duration;

use outbox_core::{Backoff, CancellationToken, Event, Health, Worker, WorkerSettings, event_handler};
use outbox_sqlite::{SqliteOutbox, SqliteTx};
use serde::{Deserialize, Serialize};
use sqlx::{AssertSqlSafe, Connection};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "test.nested", crate = outbox_core)]
enum Nested {
    /// A savepoint is opened and forgotten.
    Forgotten,
    /// A savepoint is opened and dropped, which undoes what was done in it.
    Dropped,
    /// A savepoint is opened and committed.
    Committed,
    /// A row refers to another that is not there, which only the commit finds out.
    Dangling,
    /// A statement that takes minutes.
    Endless,
    /// SQL statements as they come, and what becomes of the handler if one of them fails.
    Raw(String, IfRefused),
    Plain,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
enum IfRefused {
    Fail,
    GoOn,
}

#[event_handler(name = "nest", crate = outbox_core, max_attempts = 1, idempotency(skip = "a tool of the tests"))]
async fn nest(event: Nested, tx: &mut SqliteTx<'_>) -> Result<(), sqlx::Error> {
    let insert = |text: &'static str| sqlx::query("INSERT INTO effect VALUES ($1)").bind(text);
    match event {
        Nested::Forgotten => {
            insert("forgotten").execute(&mut **tx).await?;
            std::mem::forget(tx.begin().await?);
        }
        Nested::Dropped => {
            insert("kept").execute(&mut **tx).await?;
            let mut savepoint = tx.begin().await?;
            insert("dropped").execute(&mut *savepoint).await?;
        }
        Nested::Committed => {
            let mut savepoint = tx.begin().await?;
            insert("committed").execute(&mut *savepoint).await?;
            savepoint.commit().await?;
        }
        Nested::Dangling => {
            sqlx::query("INSERT INTO child VALUES (7)").execute(&mut **tx).await?;
        }
        Nested::Endless => {
            let endless =
                "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000)
                INSERT INTO effect SELECT 'endless' FROM n WHERE i = 1000000000";
            sqlx::query(endless).execute(&mut **tx).await?;
        }
        Nested::Raw(statements, if_refused) => {
            for statement in statements.split("; ") {
                let done = sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut **tx).await;
                if let IfRefused::Fail = if_refused {
                    done?;
                }
            }
        }
        Nested::Plain => {
            insert("plain").execute(&mut **tx).await?;
        }
    }
    Ok(())
}

const TABLES: &str = "
    CREATE TABLE effect (text);
    CREATE TABLE parent (id INTEGER PRIMARY KEY);
    CREATE TABLE child (parent REFERENCES parent DEFERRABLE INITIALLY DEFERRED)";

/// What is left in the tables and the ledger when the events are done or dead.
async fn after(events: Vec<Nested>) -> (Vec<String>, Vec<String>, Health) {
    let directory = tempfile::tempdir().unwrap();
    let url = format!("sqlite://{}", directory.path().join("app.db").display());
    let store = SqliteOutbox::connect(&url).await.unwrap();
    store.migrate().await.unwrap();
    sqlx::raw_sql(TABLES).execute(store.pool()).await.unwrap();
    let settings = WorkerSettings {
        concurrency: 1,
        transaction_timeout: Duration::from_millis(500),
        backoff: Backoff { base: Duration::from_millis(20), cap: Duration::from_millis(20) },
        ..WorkerSettings::default()
    };
    for event in &events {
        store.enqueue(event).await.unwrap();
    }
    let worker = Worker::builder(store.bus(), store.ledger()).only_given_handlers();
    let worker = worker.handlers([&nest::HANDLER]).settings(settings).build().unwrap();
    let shutdown = CancellationToken::new();
    let running = tokio::spawn({
        let (worker, shutdown) = (worker.clone(), shutdown.clone());
        async move { worker.run(shutdown).await }
    });
    let texts = async |query: &str| -> Vec<String> {
        sqlx::query_scalar(AssertSqlSafe(query)).fetch_all(store.pool()).await.unwrap()
    };
    for _ in 0..2_000 {
        tokio::time::sleep(Duration::from_millis(10)).await;
        if texts("SELECT status FROM event_queue WHERE status IN ('pending', 'processing')").await.is_empty()
        {
            break;
        }
    }
    let health = worker.health();
    shutdown.cancel();
    running.await.unwrap().unwrap();
    let ledger = "SELECT status || coalesce(': ' || last_error, '') FROM processed_events ORDER BY rowid";
    let ledger = ledger
        .replace("rowid", "(SELECT id FROM event_queue AS q WHERE q.event_id = processed_events.event_id)");
    (texts("SELECT text FROM effect ORDER BY rowid").await, texts(&ledger).await, health)
}

#[tokio::test]
async fn a_savepoint_that_is_left_open_fails_the_attempt_with_the_reason() {
    let (effects, ledger, _) = after(vec![Nested::Forgotten, Nested::Plain]).await;
    assert_eq!(effects, ["plain"]);
    assert!(ledger[0].starts_with("dead: commit failed: the handler left a savepoint"), "{ledger:?}");
    assert_eq!(ledger[1], "done");
}

#[tokio::test]
async fn savepoints_that_are_dropped_or_committed_are_fine() {
    let events = (0..20).flat_map(|_| [Nested::Dropped, Nested::Committed]).collect();
    let (effects, ledger, health) = after(events).await;
    assert_eq!(effects, ["kept", "committed"].repeat(20));
    assert_eq!(ledger, ["done"; 40]);
    assert!(health.is_ready(), "{health:?}");
}

#[tokio::test]
async fn a_commit_that_a_constraint_forbids_is_no_affair_of_the_next_handler() {
    let (effects, ledger, health) = after(vec![Nested::Dangling, Nested::Plain]).await;
    assert_eq!(effects, ["plain"]);
    assert!(ledger[0].contains("FOREIGN KEY constraint failed"), "{ledger:?}");
    assert_eq!(ledger[1], "done", "it was not deferred");
    assert!(health.is_ready(), "{health:?}");
}

#[tokio::test]
async fn a_statement_that_outlives_its_handlers_timeout_is_interrupted() {
    let started = std::time::Instant::now();
    let (effects, ledger, _) = after(vec![Nested::Endless, Nested::Plain]).await;
    assert!(ledger[0].starts_with("dead: timeout"), "{ledger:?}");
    assert_eq!((effects, &*ledger[1]), (vec!["plain".to_owned()], "done"));
    assert!(started.elapsed() < Duration::from_secs(15), "{:?}", started.elapsed());
}

#[tokio::test]
async fn a_transaction_that_a_handler_ends_by_hand_leaves_nothing() {
    for statements in [
        "INSERT INTO effect VALUES ('lost'); ROLLBACK; BEGIN; INSERT INTO effect VALUES ('kept')",
        "INSERT INTO effect VALUES ('kept'); COMMIT; BEGIN; INSERT INTO effect VALUES ('kept')",
        "INSERT INTO effect VALUES ('kept'); COMMIT",
        "ROLLBACK; INSERT INTO effect VALUES ('kept')",
        "INSERT INTO parent VALUES (1); INSERT OR ROLLBACK INTO parent VALUES (1); INSERT INTO effect VALUES ('kept')",
    ] {
        let raw = Nested::Raw(statements.to_owned(), IfRefused::GoOn);
        let (effects, ledger, health) = after(vec![raw, Nested::Plain]).await;
        assert_eq!(effects, ["plain"], "{statements}");
        let reason = "dead: commit failed: the transaction was ended by a statement within it";
        assert!(ledger[0].starts_with(reason), "{statements}: {ledger:?}");
        assert_eq!(ledger[1], "done", "{statements}");
        assert!(health.is_ready(), "{health:?}");
    }
}

#[tokio::test]
async fn what_a_handler_leaves_on_its_connection_costs_the_next_one_nothing() {
    for statements in ["PRAGMA query_only = 1", "DROP TABLE temp.candidate; DROP TABLE temp.touched"] {
        let raw = |statements: &str| Nested::Raw(statements.to_owned(), IfRefused::Fail);
        let (effects, ledger, health) = after(vec![raw(statements), Nested::Plain, Nested::Plain]).await;
        assert_eq!(ledger, ["done"; 3], "{statements}");
        assert_eq!(effects, ["plain"; 2], "{statements}");
        assert!(health.is_ready(), "{statements}: {health:?}");
    }
}

/// Who fails over something left behind finds it gone the next time.
#[tokio::test]
async fn a_temporary_table_that_is_left_behind_fails_one_attempt_at_most() {
    let leaves = || Nested::Raw("CREATE TEMP TABLE mine (x)".to_owned(), IfRefused::Fail);
    let (_, ledger, _) = after(vec![leaves(), leaves(), leaves()]).await;
    assert_eq!(ledger[0], "done");
    assert!(ledger[1].starts_with("dead: ") && ledger[1].contains("mine already exists"), "{ledger:?}");
    assert_eq!(ledger[2], "done", "the connection was opened anew");
}
