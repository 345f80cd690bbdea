//! A handler that holds its transaction and writes through another connection waits for itself.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use outbox::prelude::*;
use outbox::{EnqueueError, SqliteOptions};
use serde::{Deserialize, Serialize};

use crate::support::database::Database;
use crate::support::running::{Running, quick};

const SOON: Duration = Duration::from_secs(20);

/// Says what the handler does beside its transaction.
#[derive(Serialize, Deserialize, Event)]
#[event(type = "test.beside")]
struct Beside {
    does: Does,
}

#[derive(Clone, Copy, Serialize, Deserialize)]
enum Does {
    Nothing,
    /// Enqueues through the store, once.
    EnqueueOnStore,
    /// Enqueues through the store and returns its error, however often it is tried.
    EnqueueOnStoreAlways,
    /// Has another task enqueue through the store, and waits for it.
    EnqueueInTask,
    /// Begins a transaction on a connection of the pool.
    WriteOnPool,
    /// Reads on a connection of the pool.
    ReadOnPool,
}

#[derive(Serialize, Deserialize, Event)]
#[event(type = "test.follow_up")]
struct FollowUp {}

#[event_handler(name = "beside", idempotency(skip = "a tool of the tests"))]
async fn beside(
    event: Beside,
    delivery: Delivery,
    State(store): State<SqliteOutbox>,
    tx: &mut SqliteTx<'_>,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    let first = delivery.attempt == 1;
    sqlx::query("INSERT INTO effect VALUES ($1)")
        .bind(delivery.event_id.to_string())
        .execute(&mut **tx)
        .await?;
    match event.does {
        Does::EnqueueOnStore if first => drop(store.enqueue(&FollowUp {}).await?),
        Does::EnqueueOnStoreAlways => drop(store.enqueue(&FollowUp {}).await?),
        Does::EnqueueInTask if first => {
            let task = tokio::spawn(async move { store.enqueue(&FollowUp {}).await });
            task.await??;
        }
        Does::WriteOnPool if first => drop(store.pool().begin_with("BEGIN IMMEDIATE").await?),
        Does::ReadOnPool => {
            sqlx::query("SELECT count(*) FROM event_queue").execute(store.pool()).await?;
        }
        _ => {}
    }
    Ok(())
}

/// A worker over a store with a pool of that size; for both sizes everything holds alike.
async fn with_pool(pool_size: u32) -> (Database, Running) {
    let database = Database::with(SqliteOptions { pool_size, ..SqliteOptions::default() }).await;
    database.run("CREATE TABLE effect (event_id TEXT PRIMARY KEY)").await;
    let settings = WorkerSettings { transaction_timeout: Duration::from_millis(700), ..quick() };
    let worker =
        database.worker().settings(settings).handlers([&beside::HANDLER]).state(database.store.clone());
    (database, Running::start(worker))
}

async fn enqueueing_on_the_store_fails_fast(pool_size: u32) {
    let (database, running) = with_pool(pool_size).await;
    let started = Instant::now();
    database.store.enqueue(&Beside { does: Does::EnqueueOnStore }).await.unwrap();
    database.store.enqueue(&Beside { does: Does::Nothing }).await.unwrap();
    database.until_done(SOON, 2).await;
    // Neither the pool's time-out nor the lock's was waited for.
    assert!(started.elapsed() < Duration::from_secs(3), "{:?}", started.elapsed());
    let attempts =
        "SELECT attempts || ': ' || coalesce(last_error, '-') FROM processed_events ORDER BY attempts";
    let attempts = database.texts(attempts).await;
    assert_eq!(attempts[0], "1: -");
    assert!(
        attempts[1].starts_with("2: `store.enqueue` while this task holds a transaction"),
        "{attempts:?}"
    );
    assert!(attempts[1].contains("use `tx.enqueue(&event)`"), "{attempts:?}");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn enqueueing_on_the_store_fails_fast_with_a_pool_of_one() {
    enqueueing_on_the_store_fails_fast(1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn enqueueing_on_the_store_fails_fast_with_a_pool_of_four() {
    enqueueing_on_the_store_fails_fast(4).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_error_is_one_that_the_handler_can_tell_from_others() {
    let (database, running) = with_pool(4).await;
    let expected = EnqueueError::InsideTransaction.to_string();
    let id = database.store.enqueue(&Beside { does: Does::EnqueueOnStoreAlways }).await.unwrap().id;
    database.until(SOON, "SELECT count(*) = 1 FROM processed_events WHERE attempts >= 3").await;
    let explained = database.store.admin().explain(id).await.unwrap().unwrap();
    assert_eq!(explained.handlers[0].last_error.as_deref(), Some(&*expected));
    running.stop().await;
}

/// That the task waits for its handler cannot be known, so the handler's timeout ends it; the reason says what to do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn waiting_for_a_task_that_enqueues_meets_the_timeout_with_cause_and_remedy() {
    let (database, running) = with_pool(4).await;
    let id = database.store.enqueue(&Beside { does: Does::EnqueueInTask }).await.unwrap().id;
    database.until(SOON, "SELECT count(*) = 1 FROM processed_events WHERE last_error IS NOT NULL").await;
    let explained = database.store.admin().explain(id).await.unwrap().unwrap();
    let error = explained.handlers[0].last_error.clone().unwrap_or_default();
    assert!(error.starts_with("timeout: still running after 700ms"), "{error}");
    assert!(error.contains("write on its `tx` alone") && error.contains("`store.enqueue`"), "{error}");
    // The task was not harmed by it, and the retry does well.
    database.until(SOON, "SELECT count(*) = 1 FROM event_queue WHERE status = 'done'").await;
    database.until(SOON, "SELECT count(*) = 1 FROM event_queue WHERE event_type = 'test.follow_up'").await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writing_on_the_pool_meets_the_timeout_and_keeps_nobody_else_waiting_for_long() {
    for pool_size in [1, 4] {
        let (database, running) = with_pool(pool_size).await;
        let started = Instant::now();
        let waits_for_itself =
            database.store.enqueue(&Beside { does: Does::WriteOnPool }).await.unwrap().id.to_string();
        database.until(SOON, "SELECT count(*) = 1 FROM processed_events WHERE status = 'in_progress'").await;
        database.store.enqueue(&Beside { does: Does::Nothing }).await.unwrap();
        database.until(SOON, "SELECT count(*) = 1 FROM event_queue WHERE status = 'done'").await;
        assert!(started.elapsed() < Duration::from_secs(6), "{:?}", started.elapsed());
        let error = "SELECT last_error FROM processed_events WHERE last_error IS NOT NULL";
        database.until(SOON, &format!("SELECT count(*) = 1 FROM ({error})")).await;
        assert!(database.texts(error).await[0].starts_with("timeout"), "{:?}", database.texts(error).await);
        // Its retry, once the lease is over, does well.
        database.until_done(SOON, 2).await;
        let attempts = format!("SELECT attempts FROM processed_events WHERE event_id = '{waits_for_itself}'");
        assert_eq!(database.number(&attempts).await, 2);
        running.stop().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixteen_at_once_are_all_handled_and_no_failure_leaves_a_transaction_open() {
    for pool_size in [1, 4] {
        let (database, running) = with_pool(pool_size).await;
        for does in [Does::EnqueueOnStore, Does::ReadOnPool] {
            for _ in 0..8 {
                database.store.enqueue(&Beside { does }).await.unwrap();
            }
        }
        database.until_done(SOON, 16).await;
        assert_eq!(database.number("SELECT count(*) FROM effect").await, 16);
        let attempts: BTreeSet<String> =
            database.texts("SELECT '' || attempts FROM processed_events").await.into_iter().collect();
        assert_eq!(attempts, ["1", "2"].map(str::to_owned).into());
        let errors = "SELECT DISTINCT last_error FROM processed_events WHERE last_error IS NOT NULL";
        let errors = database.texts(errors).await;
        assert!(!errors.iter().any(|error| error.contains("transaction within a transaction")), "{errors:?}");
        assert_eq!(errors, [EnqueueError::InsideTransaction.to_string()]);
        running.stop().await;
    }
}
