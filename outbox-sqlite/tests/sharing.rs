//! Sharing the database with an application that writes to it by itself.

mod support;

use std::time::{Duration, Instant};

use outbox_core::{CancellationToken, NewEvent, RuntimeHandler, Worker};
use outbox_sqlite::SqliteOutbox;
use support::other_writer::OtherWriter;
use support::{Database, number};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_drains_a_backlog_leaves_the_application_its_turn() {
    const EVENTS: i64 = 10_000;
    let database = Database::new();
    let store = SqliteOutbox::connect(&database.url()).await.unwrap();
    store.migrate().await.unwrap();
    let mut connection = database.connect().await;
    store.enqueue_all((0..EVENTS).map(|n| NewEvent::raw("t", n.to_string())).collect()).await.unwrap();
    let handler = RuntimeHandler::new("h", "t", |_, _| async { Ok::<(), String>(()) });
    let worker = Worker::builder(store.bus(), store.ledger()).only_given_handlers().runtime_handler(handler);
    let worker = worker.build().unwrap();
    let shutdown = CancellationToken::new();
    let stop = shutdown.clone();
    let other = OtherWriter::start(&database);
    let running = tokio::spawn(async move { worker.run(stop).await.unwrap() });
    let left = "SELECT EXISTS (SELECT 1 FROM event_queue WHERE status <> 'done')";
    let deadline = Instant::now() + Duration::from_secs(120);
    while number(&mut connection, left).await == 1 {
        assert!(Instant::now() < deadline, "the backlog is not drained");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    // Much more than it takes on an idle machine, and much less than the five seconds after which an application is told
    // that the database is locked.
    other.waited_less_than(Duration::from_secs(3), "draining").await;
    shutdown.cancel();
    running.await.unwrap();
}
