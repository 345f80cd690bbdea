//! Claims that had to wait for another process's lock.

mod support;

use std::time::Duration;

use outbox_core::{Bus, Claim, ClaimRequest, ClaimToken, Ledger, NewEvent};
use outbox_sqlite::SqliteOutbox;
use support::subscribed::{Terms, subscribed};
use support::{Database, number, run};
use uuid::Uuid;

const LEASE: Duration = Duration::from_millis(400);

/// Holds the lock for more than two leases.
async fn hold_the_lock(database: &Database) -> tokio::task::JoinHandle<()> {
    let mut other = database.connect().await;
    run(&mut other, "BEGIN IMMEDIATE").await;
    tokio::spawn(async move {
        tokio::time::sleep(LEASE * 2 + LEASE / 2).await;
        run(&mut other, "ROLLBACK").await;
    })
}

/// Fails unless the claim has most of its lease before it, and the ledger says the same.
async fn has_its_lease(database: &Database, token: &ClaimToken) {
    let mut connection = database.connect().await;
    let until = number(&mut connection, "SELECT lease_until FROM processed_events").await;
    assert_eq!(until, token.lease_until.as_millis());
    let now = "SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER)";
    let left = until - number(&mut connection, now).await;
    assert!(left > 0, "it was over {} ms before it was granted", -left);
}

#[tokio::test]
async fn what_a_worker_is_given_after_a_long_wait_has_its_lease_before_it() {
    let database = Database::new();
    let store = SqliteOutbox::connect(&database.url()).await.unwrap();
    store.migrate().await.unwrap();
    let bus = subscribed(&store, Terms { max_attempts: 1, lease: LEASE, grant_claims: true }).await;
    store.enqueue_all(vec![NewEvent::raw("t", "1")]).await.unwrap();
    let holder = hold_the_lock(&database).await;
    let received = bus.receive(10).await.unwrap();
    has_its_lease(&database, &received[0].claims.as_ref().unwrap()[0]).await;
    holder.await.unwrap();
}

#[tokio::test]
async fn a_claim_that_is_granted_after_a_long_wait_has_its_lease_before_it() {
    let database = Database::new();
    let store = SqliteOutbox::connect(&database.url()).await.unwrap();
    store.migrate().await.unwrap();
    let request = ClaimRequest {
        event_id: Uuid::now_v7().into(),
        handler: "h".into(),
        owner: Uuid::new_v4(),
        lease: LEASE,
        max_attempts: 1,
    };
    let holder = hold_the_lock(&database).await;
    let Claim::Granted(token) = store.ledger().claim(&request).await.unwrap() else { panic!("it is free") };
    has_its_lease(&database, &token).await;
    holder.await.unwrap();
}
