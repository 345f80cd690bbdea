//! What waits for the disk: everything that must last, and no claim.

mod support;

use std::time::Duration;

use outbox_core::{Bus, Enqueue, NewEvent, StoreErrorKind};
use outbox_sqlite::{SqliteOptions, SqliteOutbox};
use support::subscribed::{Terms, subscribed};
use support::{Database, number, run};

const FULL: i64 = 2;

async fn store(database: &Database) -> SqliteOutbox {
    let options = SqliteOptions { busy_timeout: Duration::from_millis(100), ..SqliteOptions::default() };
    let store = SqliteOutbox::connect_with(&database.url(), options).await.unwrap();
    store.migrate().await.unwrap();
    store
}

const TERMS: Terms = Terms { max_attempts: 5, lease: Duration::from_secs(60), grant_claims: true };

/// `PRAGMA synchronous` where the next transaction writes.
async fn synchronous(store: &SqliteOutbox) -> i64 {
    let mut tx = store.begin().await.unwrap();
    let level = sqlx::query_scalar("PRAGMA synchronous").fetch_one(&mut *tx).await.unwrap();
    tx.commit().await.unwrap();
    level
}

#[tokio::test]
async fn after_a_claim_commits_wait_for_the_disk_again() {
    let database = Database::new();
    let store = store(&database).await;
    let bus = subscribed(&store, TERMS).await;
    let mut tx = store.begin().await.unwrap();
    tx.enqueue_all(vec![NewEvent::raw("t", "1")]).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(bus.receive(10).await.unwrap().len(), 1);
    assert_eq!(synchronous(&store).await, FULL);
}

#[tokio::test]
async fn after_a_claim_that_failed_commits_wait_for_the_disk_again() {
    let database = Database::new();
    let store = store(&database).await;
    let bus = subscribed(&store, TERMS).await;
    let mut other = database.connect().await;
    run(&mut other, "BEGIN IMMEDIATE").await;
    let failure = bus.receive(10).await.unwrap_err();
    assert_eq!(failure.kind(), StoreErrorKind::Busy, "{failure}");
    run(&mut other, "ROLLBACK").await;
    assert_eq!(synchronous(&store).await, FULL);
}

#[tokio::test]
async fn the_id_that_a_foreign_row_is_given_stays_its_own() {
    let database = Database::new();
    let store = store(&database).await;
    let bus = subscribed(&store, TERMS).await;
    let mut other = database.connect().await;
    run(&mut other, "INSERT INTO event_queue (event_type, payload) VALUES ('t', '1')").await;
    let received = bus.receive(10).await.unwrap();
    let id = received[0].envelope.id;
    assert_eq!(received[0].claims.as_ref().unwrap().len(), 1);
    assert_eq!(synchronous(&store).await, FULL);
    let kept = format!("SELECT count(*) FROM event_queue WHERE event_id = '{id}' AND status = 'processing'");
    assert_eq!(number(&mut other, &kept).await, 1);
}
