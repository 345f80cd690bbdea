//! Rows that cannot run now keep none waiting that can.

use std::time::{Duration, Instant};

use outbox::Backoff;
use outbox::prelude::*;

use crate::support::database::Database;
use crate::support::running::{Running, quick};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_good_event_is_done_at_once_behind_hundreds_that_fail_or_wait() {
    let database = Database::new().await;
    let mut tx = database.store.pool().begin_with("BEGIN IMMEDIATE").await.unwrap();
    let failing = (0..200).map(|_| NewEvent::raw("test.mixed", "\"fail\""));
    let later = (0..200).map(|_| NewEvent::raw("test.mixed", "\"late\"").after(Duration::from_secs(3_600)));
    // Behind one that fails, the others of its key wait; so do events that nobody handles.
    let keyed = (0..200).map(|_| NewEvent::raw("test.mixed", "\"fail\"").key("k"));
    let unhandled = (0..200).map(|_| NewEvent::raw("other.type", "1"));
    enqueue_events(&mut tx, failing.chain(later).chain(keyed).chain(unhandled)).await.unwrap();
    tx.commit().await.unwrap();
    let handler = RuntimeHandler::new("mixed", "test.mixed", |payload, _| async move {
        if payload == "\"fail\"" { Err("as planned") } else { Ok(()) }
    });
    let settings = WorkerSettings { concurrency: 20, backoff: Backoff::default(), ..quick() };
    let running = Running::start(database.worker().settings(settings).runtime_handler(handler));
    let started = Instant::now();
    let mut tx = database.store.pool().begin_with("BEGIN IMMEDIATE").await.unwrap();
    enqueue_events(&mut tx, [NewEvent::raw("test.mixed", "\"good\"")]).await.unwrap();
    tx.commit().await.unwrap();
    let good = "SELECT status = 'done' FROM event_queue WHERE payload = '\"good\"'";
    database.until(Duration::from_secs(5), good).await;
    let failed = "SELECT count(*) = 202 FROM processed_events WHERE attempts = 1";
    database.until(Duration::from_secs(5).saturating_sub(started.elapsed()), failed).await;
    assert_eq!(database.number("SELECT max(attempts) FROM processed_events").await, 1);
    assert_eq!(database.number("SELECT count(*) FROM processed_events").await, 202);
    running.stop().await;
}
