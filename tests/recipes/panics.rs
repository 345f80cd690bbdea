//! Panics are failed attempts, whatever they carry and wherever they happen.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use outbox::prelude::*;
use serde::{Deserialize, Serialize};

use crate::support::database::Database;
use crate::support::running::{Running, quick};

const SOON: Duration = Duration::from_secs(20);

#[derive(Serialize, Deserialize, Event)]
#[event(type = "test.panicky")]
struct Panicky {
    how: How,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
enum How {
    Not,
    WithText,
    WithOwnedText,
    WithoutText,
    WithinAMutex,
    InDrop,
    BeforeTheFirstAwait,
}

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("in drop");
    }
}

async fn go_off(how: How, mutex: &Mutex<u32>) {
    if matches!(how, How::BeforeTheFirstAwait) {
        panic!("before the first await");
    }
    tokio::task::yield_now().await;
    match how {
        How::Not => {}
        How::WithText => panic!("text"),
        How::WithOwnedText => std::panic::panic_any(String::from("owned text")),
        How::WithoutText => std::panic::panic_any(42_u64),
        How::WithinAMutex => {
            let _held = mutex.lock();
            panic!("within a mutex");
        }
        How::InDrop => drop(Bomb),
        How::BeforeTheFirstAwait => unreachable!("panicked above"),
    }
}

type Shared = Arc<Mutex<u32>>;

#[event_handler(name = "panicky", idempotency(skip = "a tool of the tests"))]
async fn panicky(event: Panicky, State(mutex): State<Shared>) -> Result<(), String> {
    go_off(event.how, &mutex).await;
    Ok(())
}

#[event_handler(name = "panicky_with_a_transaction", idempotency(skip = "a tool of the tests"))]
async fn panicky_with_a_transaction(
    event: Panicky,
    State(mutex): State<Shared>,
    tx: &mut SqliteTx<'_>,
) -> Result<(), sqlx::Error> {
    sqlx::query("UPDATE counter SET value = value + 1").execute(&mut **tx).await?;
    go_off(event.how, &mutex).await;
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn panicking_handlers_are_retried_and_dead_lettered_with_their_text_and_good_ones_go_on() {
    let database = Database::new().await;
    database.run("CREATE TABLE counter (value INTEGER); INSERT INTO counter VALUES (0)").await;
    let settings = WorkerSettings { max_attempts: 3, ..quick() };
    let worker = database
        .worker()
        .settings(settings)
        .concurrency(2)
        .handlers([&panicky::HANDLER, &panicky_with_a_transaction::HANDLER])
        .state(Shared::default());
    let running = Running::start(worker);
    let expected = [
        (How::WithText, "panic: text"),
        (How::WithOwnedText, "panic: owned text"),
        (How::WithoutText, "panic: (no text)"),
        (How::WithinAMutex, "panic: within a mutex"),
        (How::InDrop, "panic: in drop"),
        (How::BeforeTheFirstAwait, "panic: before the first await"),
    ];
    let mut ids = Vec::new();
    for (how, text) in expected {
        ids.push((database.store.enqueue(&Panicky { how }).await.unwrap().id, text));
        database.store.enqueue(&Panicky { how: How::Not }).await.unwrap();
    }
    let settled = "SELECT sum(status = 'done') = 6 AND sum(status = 'dead_lettered') = 6 FROM event_queue";
    database.until(SOON, settled).await;
    for (id, text) in ids {
        let explained = database.store.admin().explain(id).await.unwrap().unwrap();
        assert_eq!(explained.handlers.len(), 2);
        for handler in explained.handlers {
            let found = (handler.state.map(outbox::ClaimState::as_str), handler.attempts, handler.last_error);
            assert_eq!(found, (Some("dead"), 3, Some(text.to_owned())), "{}", handler.handler);
        }
    }
    assert_eq!(
        database.number("SELECT count(*) FROM processed_events WHERE status = 'in_progress'").await,
        0
    );
    assert_eq!(database.number("SELECT value FROM counter").await, 6);
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_panic_frees_its_slot() {
    let database = Database::new().await;
    // Two slots. One that panics first would be missing for the two that then wait for each other.
    let barrier = Arc::new(tokio::sync::Barrier::new(2));
    let meet = RuntimeHandler::new("meet", "test.meet", move |payload, delivery| {
        let barrier = Arc::clone(&barrier);
        async move {
            assert!(payload != "\"panic\"" || delivery.attempt > 1, "the first attempt");
            if payload == "\"meet\"" {
                barrier.wait().await;
            }
            Ok::<(), String>(())
        }
    });
    let running = Running::start(database.worker().concurrency(2).runtime_handler(meet));
    let mut tx = database.store.pool().begin_with("BEGIN IMMEDIATE").await.unwrap();
    let events = ["panic"; 10].into_iter().chain(["meet"; 2]);
    enqueue_events(&mut tx, events.map(|what| NewEvent::raw("test.meet", format!("\"{what}\""))))
        .await
        .unwrap();
    tx.commit().await.unwrap();
    database.until_done(SOON, 12).await;
    running.stop().await;
}
