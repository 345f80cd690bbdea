//! Somebody else holds the write lock for long: nobody's work is repeated, nothing is lost, and the log stays short.

use std::time::Duration;

use outbox::prelude::*;

use crate::support::child::Plan;
use crate::support::database::Database;
use crate::support::handlers::{COUNT_TABLES, Count, Does, Job};
use crate::support::journal;
use crate::support::locker::Locker;
use crate::support::process::Process;
use crate::support::wait::wait_until;

const SOON: Duration = Duration::from_secs(20);

fn count(plan: &Plan, what: &str) -> usize {
    journal::entries(&plan.journal, what).len()
}

#[tokio::test]
async fn results_that_meet_a_lock_of_three_seconds_land_afterwards_and_nothing_runs_twice() {
    let database = Database::new().await;
    let plan = Plan {
        concurrency: 10,
        lease_ms: 20_000,
        busy_timeout_ms: 100,
        ..Plan::new(database.file(), database.journal())
    };
    let mut worker = Process::worker(&plan);
    let mut tx = database.store.pool().begin_with("BEGIN IMMEDIATE").await.unwrap();
    let jobs = (0..10).map(|_| NewEvent::new(&Job { does: Does::Sleep(300) }).unwrap());
    enqueue_events(&mut tx, jobs).await.unwrap();
    tx.commit().await.unwrap();
    wait_until("the handlers begin", SOON, || count(&plan, "begin") == 10, || worker.printed());
    let locker = Locker::lock(&database.file()).await;
    wait_until("the handlers end", SOON, || count(&plan, "end") == 10, || worker.printed());
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(
        database.number("SELECT count(*) FROM processed_events WHERE status = 'in_progress'").await,
        10
    );
    locker.release().await;
    database.until_done(Duration::from_secs(5), 10).await;
    assert!(worker.is_running());
    assert_eq!(count(&plan, "begin"), 10);
    assert_eq!(database.number("SELECT max(attempts) FROM processed_events").await, 1);
    let log = worker.printed();
    let failing = log.matches("the store fails; trying again until it works").count();
    assert_eq!(failing, 1, "one line for a kind of failure, however often it occurs:\n{log}");
    worker.drains_within(Duration::from_secs(5));
}

#[tokio::test]
async fn transactional_handlers_that_meet_a_lock_spend_no_attempt_and_have_their_effect_once() {
    let database = Database::new().await;
    database.run(COUNT_TABLES).await;
    let plan = Plan {
        concurrency: 5,
        lease_ms: 20_000,
        busy_timeout_ms: 100,
        ..Plan::new(database.file(), database.journal())
    };
    let mut worker = Process::worker(&plan);
    for _ in 0..20 {
        database.store.enqueue(&Count { does: Does::Sleep(20) }).await.unwrap();
    }
    wait_until("handlers have ended", SOON, || count(&plan, "end") >= 3, || worker.printed());
    let locker = Locker::lock(&database.file()).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    locker.release().await;
    database.until_done(SOON, 20).await;
    assert_eq!(database.number("SELECT value FROM counter").await, 20);
    assert_eq!(database.number("SELECT max(attempts) FROM processed_events").await, 1);
    assert_eq!(count(&plan, "begin"), 20);
    worker.drains_within(Duration::from_secs(5));
}

#[tokio::test]
async fn a_lock_that_outlasts_every_lease_leaves_the_worker_alive_and_all_events_done() {
    let database = Database::new().await;
    let plan = Plan {
        concurrency: 5,
        lease_ms: 600,
        busy_timeout_ms: 100,
        ..Plan::new(database.file(), database.journal())
    };
    let mut workers = [Process::worker(&plan), Process::worker(&plan)];
    for _ in 0..20 {
        database.store.enqueue(&Job { does: Does::Sleep(100) }).await.unwrap();
    }
    wait_until("handlers have begun", SOON, || count(&plan, "begin") >= 5, || workers[0].printed());
    let locker = Locker::lock(&database.file()).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    locker.release().await;
    database.until_done(SOON, 20).await;
    for worker in &mut workers {
        worker.drains_within(Duration::from_secs(5));
    }
}

#[tokio::test]
async fn a_worker_whose_database_is_locked_still_ends_in_time() {
    let database = Database::new().await;
    let plan = Plan {
        busy_timeout_ms: 100,
        grace_ms: 300,
        lease_ms: 20_000,
        ..Plan::new(database.file(), database.journal())
    };
    let mut worker = Process::worker(&plan);
    database.store.enqueue(&Job { does: Does::Sleep(100) }).await.unwrap();
    wait_until("the handler begins", SOON, || count(&plan, "begin") == 1, || worker.printed());
    let locker = Locker::lock(&database.file()).await;
    wait_until("the handler ends", SOON, || count(&plan, "end") == 1, || worker.printed());
    worker.signal(nix::sys::signal::Signal::SIGTERM);
    // The grace period, and two seconds for what cannot be given back.
    let status = worker.ends_within(Duration::from_secs(5));
    assert_eq!(status.code(), Some(crate::support::child::exit::GRACE_EXCEEDED), "{}", worker.printed());
    locker.release().await;
}
