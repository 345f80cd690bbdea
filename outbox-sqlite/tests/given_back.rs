//! A worker that goes away while it waits for events leaves none of them behind.

mod support;

use std::pin::Pin;
use std::time::{Duration, Instant};

use outbox_core::{Bus, NewEvent, Received};
use outbox_sqlite::{SqliteBus, SqliteOutbox};
use sqlx::SqliteConnection;
use support::subscribed::{Terms, subscribed};
use support::{Database, number, run};

const EVENTS: usize = 3;

const fn terms(grant_claims: bool) -> Terms {
    Terms { max_attempts: 10, lease: Duration::from_secs(600), grant_claims }
}

async fn with_events() -> (Database, SqliteOutbox, SqliteConnection) {
    let database = Database::new();
    let store = SqliteOutbox::connect(&database.url()).await.unwrap();
    store.migrate().await.unwrap();
    store.enqueue_all((0..EVENTS).map(|n| NewEvent::raw("t", n.to_string())).collect()).await.unwrap();
    let connection = database.connect().await;
    (database, store, connection)
}

/// A call that has been sent off, and is waited for no more.
async fn asks(bus: &SqliteBus) -> Pin<Box<dyn Future<Output = ()> + '_>> {
    let mut receive = Box::pin(async { panic!("not waited for: {:?}", bus.receive(10).await) });
    tokio::select! {
        biased;
        () = &mut receive => {}
        () = std::future::ready(()) => {}
    }
    receive
}

/// Long before the lease of ten minutes ends.
async fn receives_all(bus: &SqliteBus) -> Vec<Received> {
    let deadline = Instant::now() + Duration::from_secs(20);
    let mut received = Vec::new();
    while received.len() < EVENTS {
        assert!(Instant::now() < deadline, "received {received:?}");
        received.extend(bus.receive(10).await.unwrap());
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    received
}

#[tokio::test]
async fn events_claimed_for_a_worker_that_has_gone_are_given_back_at_once() {
    for grant_claims in [true, false] {
        let (_database, store, mut connection) = with_events().await;
        let (gone, other) =
            (subscribed(&store, terms(grant_claims)).await, subscribed(&store, terms(grant_claims)).await);
        // Its claim is asked for, and cannot be written yet.
        run(&mut connection, "BEGIN IMMEDIATE").await;
        drop(asks(&gone).await);
        run(&mut connection, "COMMIT").await;
        check_attempts(&receives_all(&other).await, grant_claims);
    }
}

#[tokio::test]
async fn so_are_events_whose_claim_was_answered_and_not_heard() {
    for grant_claims in [true, false] {
        let (_database, store, mut connection) = with_events().await;
        let (gone, other) =
            (subscribed(&store, terms(grant_claims)).await, subscribed(&store, terms(grant_claims)).await);
        let receive = asks(&gone).await;
        let in_hand = "SELECT count(*) FROM event_queue WHERE status = 'processing'";
        while number(&mut connection, in_hand).await < EVENTS as i64 {}
        // The answer follows the commit. Should it take longer, this is the case above.
        tokio::time::sleep(Duration::from_millis(50)).await;
        drop(receive);
        check_attempts(&receives_all(&other).await, grant_claims);
    }
}

/// The attempt of the one that went away does not count.
fn check_attempts(received: &[Received], grant_claims: bool) {
    for event in received {
        let attempts = event.claims.as_ref().map(|claims| claims.iter().map(|claim| claim.attempt).collect());
        assert_eq!(attempts, grant_claims.then(|| vec![1]));
    }
}
