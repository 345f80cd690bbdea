//! A database in memory vanishes with its last connection, and a pool closes idle connections.

use std::time::Duration;

use outbox::{CancellationToken, NewEvent, SqliteOutbox, StoreErrorKind, Worker, WorkerError};
use sqlx::SqlitePool;
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions};

use crate::support::database::Database;
use crate::support::handlers::{self, Does, Job};
use crate::support::journal::Journal;
use crate::support::running::{Running, quick};

#[tokio::test]
async fn every_spelling_of_an_in_memory_database_is_refused_with_the_reason_and_the_remedy() {
    for url in ["sqlite::memory:", "sqlite://:memory:", "sqlite://?mode=memory", "sqlite://x?mode=memory"] {
        let error = SqliteOutbox::connect(url).await.expect_err(url);
        assert_eq!(error.kind(), StoreErrorKind::Invalid, "{url}: {error}");
        let text = error.to_string();
        assert!(text.contains("vanishes with its last connection") && text.contains("use a file"), "{text}");
    }
}

#[tokio::test]
async fn a_pool_in_memory_is_refused_by_whatever_would_lose_events_in_it() {
    let store = SqliteOutbox::new(SqlitePool::connect("sqlite::memory:").await.unwrap());
    let refused = |text: String| assert!(text.contains("an in-memory database is refused"), "{text}");
    refused(store.migrate().await.unwrap_err().to_string());
    refused(store.enqueue(&Job { does: Does::Nothing }).await.unwrap_err().to_string());
    let worker = Worker::builder(store.bus(), store.ledger()).only_given_handlers().build().unwrap();
    match worker.run(CancellationToken::new()).await {
        Err(WorkerError::Start(failure)) => refused(failure.to_string()),
        other => panic!("{other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_outlives_a_pool_whose_connections_were_all_closed_for_idleness() {
    let database = Database::new().await;
    let options = SqliteConnectOptions::new().filename(database.file()).journal_mode(SqliteJournalMode::Wal);
    let pool = SqlitePoolOptions::new()
        .max_connections(5)
        .min_connections(0)
        .idle_timeout(Duration::from_millis(300))
        .connect_with(options)
        .await
        .unwrap();
    let store = SqliteOutbox::new(pool.clone());
    let running = Running::start(
        Worker::builder(store.bus(), store.ledger())
            .only_given_handlers()
            .handlers(handlers::all())
            .state(Journal::open(&database.journal()))
            .settings(quick()),
    );
    let enqueues = (0..50).map(|_| {
        let store = store.clone();
        tokio::spawn(async move { store.enqueue(&Job { does: Does::Nothing }).await.unwrap() })
    });
    for enqueue in enqueues.collect::<Vec<_>>() {
        enqueue.await.unwrap();
    }
    // Somebody waits for a connection and gives up.
    let busy = [(); 5].map(|()| pool.clone());
    let mut held = Vec::new();
    for pool in &busy {
        held.push(pool.acquire().await.unwrap());
    }
    assert!(tokio::time::timeout(Duration::from_millis(50), pool.acquire()).await.is_err());
    drop(held);
    database.until_done(Duration::from_secs(20), 50).await;
    // sqlx looks for idle connections at this interval, too.
    tokio::time::sleep(Duration::from_millis(900)).await;
    let mut tx = pool.begin_with("BEGIN IMMEDIATE").await.unwrap();
    let event = NewEvent::new(&Job { does: Does::Nothing }).unwrap();
    outbox::enqueue_events(&mut tx, [event]).await.unwrap();
    tx.commit().await.unwrap();
    store.enqueue(&Job { does: Does::Nothing }).await.unwrap();
    database.until_done(Duration::from_secs(20), 52).await;
    running.stop().await;
}
