//! What was rolled back was never enqueued, by whatever means it was rolled back.

use std::time::Duration;

use outbox::prelude::*;
use serde::{Deserialize, Serialize};
use sqlx::Connection;
use tokio::sync::mpsc;

use crate::support::database::Database;
use crate::support::running::Running;

const SOON: Duration = Duration::from_secs(20);

#[derive(Serialize, Deserialize, Event)]
#[event(type = "test.numbered")]
struct Numbered {
    n: u32,
}

fn teller() -> (RuntimeHandler, mpsc::UnboundedReceiver<u32>) {
    let (tell, told) = mpsc::unbounded_channel();
    let handler = RuntimeHandler::new("teller", "test.numbered", move |payload, _| {
        let told = serde_json::from_str::<Numbered>(&payload).map(|event| tell.send(event.n));
        async move { told.map(drop) }
    });
    (handler, told)
}

async fn next(told: &mut mpsc::UnboundedReceiver<u32>) -> u32 {
    tokio::time::timeout(SOON, told.recv()).await.expect("an event in time").expect("the handler lives")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_event_of_a_savepoint_that_was_rolled_back_is_never_delivered() {
    let database = Database::new().await;
    let (handler, mut told) = teller();
    let running = Running::start(database.worker().runtime_handler(handler).concurrency(1));
    let mut outer = database.store.pool().begin_with("BEGIN IMMEDIATE").await.unwrap();
    outer.enqueue(&Numbered { n: 1 }).await.unwrap();
    let mut inner = outer.begin().await.unwrap();
    inner.enqueue(&Numbered { n: 2 }).await.unwrap();
    inner.rollback().await.unwrap();
    let mut dropped = outer.begin().await.unwrap();
    dropped.enqueue(&Numbered { n: 22 }).await.unwrap();
    drop(dropped);
    let mut kept = outer.begin().await.unwrap();
    kept.enqueue(&Numbered { n: 3 }).await.unwrap();
    kept.commit().await.unwrap();
    outer.commit().await.unwrap();
    assert_eq!((next(&mut told).await, next(&mut told).await), (1, 3));
    database.until_done(SOON, 2).await;
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_was_rolled_back_delivers_nothing_and_disturbs_nobody() {
    let database = Database::new().await;
    let (handler, mut told) = teller();
    let running = Running::start(database.worker().runtime_handler(handler));
    for n in 0..20 {
        let mut tx = database.store.pool().begin_with("BEGIN IMMEDIATE").await.unwrap();
        tx.enqueue(&Numbered { n }).await.unwrap();
        if n % 2 == 0 { tx.rollback().await.unwrap() } else { drop(tx) }
    }
    database.store.enqueue(&Numbered { n: 100 }).await.unwrap();
    assert_eq!(next(&mut told).await, 100);
    database.until_done(SOON, 1).await;
    assert!(running.health().is_ready(), "{:?}", running.health());
    running.stop().await;
}

#[derive(Serialize, Deserialize, Event)]
#[event(type = "test.follows")]
struct Follows {
    ends: Ends,
}

#[derive(Serialize, Deserialize)]
enum Ends {
    Well,
    WithAnError,
    WithAPanic,
    AtItsTimeout,
    /// The error comes from a savepoint that is still open.
    WithinASavepoint,
    /// Only what a savepoint wrote is taken back, and the handler goes on.
    WellAfterASavepoint,
}

/// Enqueues a follow-up, then ends in one way or another.
#[event_handler(name = "follows", idempotency(skip = "a tool of the tests"), timeout = "300ms")]
async fn follows(
    event: Follows,
    tx: &mut SqliteTx<'_>,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    tx.enqueue(&Numbered { n: 4 }).await?;
    match event.ends {
        Ends::Well => {}
        Ends::WithAnError => return Err(HandlerError::permanent("after the follow-up").into()),
        Ends::WithAPanic => panic!("after the follow-up"),
        Ends::AtItsTimeout => std::future::pending().await,
        Ends::WithinASavepoint => {
            let mut savepoint = tx.begin().await?;
            savepoint.enqueue(&Numbered { n: 5 }).await?;
            return Err(HandlerError::permanent("within a savepoint").into());
        }
        Ends::WellAfterASavepoint => {
            let mut savepoint = tx.begin().await?;
            savepoint.enqueue(&Numbered { n: 6 }).await?;
            savepoint.rollback().await?;
            tx.enqueue(&Numbered { n: 7 }).await?;
        }
    }
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_follow_up_of_a_handler_that_fails_is_never_delivered() {
    let database = Database::new().await;
    let (handler, mut told) = teller();
    let settings = WorkerSettings { max_attempts: 1, ..crate::support::running::quick() };
    let running = Running::start(
        database
            .worker()
            .settings(settings)
            .concurrency(1)
            .handlers([&follows::HANDLER])
            .runtime_handler(handler),
    );
    for ends in [Ends::WithAnError, Ends::WithAPanic, Ends::AtItsTimeout, Ends::WithinASavepoint] {
        database.store.enqueue(&Follows { ends }).await.unwrap();
    }
    database.until(SOON, "SELECT count(*) = 4 FROM processed_events WHERE status = 'dead'").await;
    assert_eq!(
        database.number("SELECT count(*) FROM event_queue WHERE event_type = 'test.numbered'").await,
        0
    );
    // The connection is as good as new.
    database.store.enqueue(&Follows { ends: Ends::Well }).await.unwrap();
    assert_eq!(next(&mut told).await, 4);
    database.store.enqueue(&Follows { ends: Ends::WellAfterASavepoint }).await.unwrap();
    assert_eq!((next(&mut told).await, next(&mut told).await), (4, 7));
    assert!(running.health().is_ready(), "{:?}", running.health());
    running.stop().await;
}
