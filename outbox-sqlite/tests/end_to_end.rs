//! From the application's transaction to the settled row.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use outbox_core::{
    CancellationToken, Delivery, Enqueue, Event, NewEvent, RuntimeHandler, Worker, enqueue_events,
    event_handler,
};
use outbox_sqlite::{SqliteOutbox, SqliteTx};
use serde::{Deserialize, Serialize};
use sqlx::SqlitePool;

async fn store(directory: &tempfile::TempDir) -> SqliteOutbox {
    let store = SqliteOutbox::connect(&format!("sqlite://{}", directory.path().join("app.db").display()))
        .await
        .unwrap();
    store.migrate().await.unwrap();
    store
}

/// Waits, at most 20 s, until the query gives true.
async fn until(pool: &SqlitePool, query: &'static str) {
    for _ in 0..2_000 {
        if sqlx::query_scalar::<_, bool>(query).fetch_one(pool).await.unwrap() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("not in 20 s: {query}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_event_of_a_committed_transaction_is_handled_once_by_each_handler() {
    let directory = tempfile::tempdir().unwrap();
    let store = store(&directory).await;
    let calls = [(); 2].map(|()| Arc::new(AtomicU32::new(0)));
    let handler = |name: &str, calls: &Arc<AtomicU32>| {
        let calls = Arc::clone(calls);
        RuntimeHandler::new(name, "test.*", move |_, _| {
            calls.fetch_add(1, Ordering::SeqCst);
            async { Ok::<(), String>(()) }
        })
    };
    let worker = Worker::builder(store.bus(), store.ledger())
        .only_given_handlers()
        .runtime_handler(handler("a", &calls[0]))
        .runtime_handler(handler("b", &calls[1]))
        .build()
        .unwrap();
    let shutdown = CancellationToken::new();
    let running = tokio::spawn({
        let (worker, shutdown) = (worker.clone(), shutdown.clone());
        async move { worker.run(shutdown).await }
    });
    for _ in 0..10 {
        let mut tx = store.pool().begin_with("BEGIN IMMEDIATE").await.unwrap();
        let events = (0..20).map(|n| NewEvent::raw("test.happened", format!("{{\"n\":{n}}}")));
        enqueue_events(&mut *tx, events).await.unwrap();
        tx.commit().await.unwrap();
    }
    until(store.pool(), "SELECT count(*) = 200 FROM event_queue WHERE status = 'done'").await;
    assert_eq!(calls.map(|calls| calls.load(Ordering::SeqCst)), [200, 200]);
    shutdown.cancel();
    running.await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_handler_keeps_no_other_from_the_next_event_of_a_key() {
    let directory = tempfile::tempdir().unwrap();
    let store = store(&directory).await;
    let (go, shutdown) = (CancellationToken::new(), CancellationToken::new());
    let slow = go.clone();
    let worker = Worker::builder(store.bus(), store.ledger())
        .only_given_handlers()
        .runtime_handler(RuntimeHandler::new("quick", "test.*", |_, _| async { Ok::<(), String>(()) }))
        .runtime_handler(RuntimeHandler::new("slow", "test.*", move |_, _| {
            let slow = slow.clone();
            async move {
                slow.cancelled().await;
                Ok::<(), String>(())
            }
        }))
        .build()
        .unwrap();
    let running = tokio::spawn({
        let shutdown = shutdown.clone();
        async move { worker.run(shutdown).await }
    });
    let events = (0..3).map(|n| NewEvent::raw("test.happened", n.to_string()).key("k"));
    store.enqueue_all(events.collect()).await.unwrap();
    let quick = "SELECT count(*) = 3 FROM processed_events WHERE handler = 'quick' AND status = 'done'";
    until(store.pool(), quick).await;
    go.cancel();
    until(store.pool(), "SELECT count(*) = 3 FROM event_queue WHERE status = 'done'").await;
    shutdown.cancel();
    running.await.unwrap().unwrap();
}

#[derive(Serialize, Deserialize, Event)]
#[event(type = "counter.raised", key = "name", crate = outbox_core)]
struct Raised {
    name: String,
    times: u32,
}

#[event_handler(name = "raise", crate = outbox_core)]
async fn raise(event: Raised, delivery: Delivery, tx: &mut SqliteTx<'_>) -> Result<(), sqlx::Error> {
    sqlx::query("UPDATE counter SET value = value + 1").execute(&mut **tx).await?;
    if delivery.attempt == 1 && event.times.is_multiple_of(3) {
        return Err(sqlx::Error::RowNotFound);
    }
    if event.times > 0 {
        tx.enqueue(&Raised { name: event.name, times: event.times - 1 })
            .await
            .map_err(sqlx::Error::decode)?;
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn effect_mark_and_follow_up_commit_together_and_a_failed_attempt_leaves_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let store = store(&directory).await;
    sqlx::raw_sql("CREATE TABLE counter (value); INSERT INTO counter VALUES (0)")
        .execute(store.pool())
        .await
        .unwrap();
    let mut settings = outbox_core::WorkerSettings::default();
    settings.backoff.base = Duration::from_millis(20);
    let worker = Worker::builder(store.bus(), store.ledger())
        .only_given_handlers()
        .handlers([&raise::HANDLER])
        .settings(settings)
        .build()
        .unwrap();
    let shutdown = CancellationToken::new();
    let running = tokio::spawn({
        let shutdown = shutdown.clone();
        async move { worker.run(shutdown).await }
    });
    store.enqueue(&Raised { name: "x".to_owned(), times: 9 }).await.unwrap();
    until(store.pool(), "SELECT count(*) = 10 FROM event_queue WHERE status = 'done'").await;
    let value: i64 = sqlx::query_scalar("SELECT value FROM counter").fetch_one(store.pool()).await.unwrap();
    assert_eq!(value, 10);
    let attempts: i64 = sqlx::query_scalar("SELECT sum(attempts) FROM processed_events")
        .fetch_one(store.pool())
        .await
        .unwrap();
    assert_eq!(attempts, 14, "four of ten failed once");
    shutdown.cancel();
    running.await.unwrap().unwrap();
}
