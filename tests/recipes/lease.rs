//! Leases: who holds one runs, who has lost it writes nothing, and nobody's work is stolen or left lying.

use std::time::Duration;

use nix::sys::signal::Signal;
use outbox::{NewEvent, enqueue_events};

use crate::support::child::Plan;
use crate::support::database::Database;
use crate::support::handlers::{COUNT_TABLES, Count, Does, Job};
use crate::support::journal;
use crate::support::process::Process;
use crate::support::wait::wait_until;

const SOON: Duration = Duration::from_secs(20);

fn begun(plan: &Plan) -> usize {
    journal::entries(&plan.journal, "begin").len()
}

fn wait_for_begins(plan: &Plan, process: &Process, count: usize) {
    let what = format!("{count} handlers begin");
    wait_until(&what, SOON, || begun(plan) >= count, || process.printed());
}

#[tokio::test]
async fn a_handler_that_blocks_its_only_thread_for_three_leases_keeps_its_claim() {
    let database = Database::new().await;
    let plan = Plan { lease_ms: 800, ..Plan::new(database.file(), database.journal()) };
    let workers = [Process::worker(&plan), Process::worker(&plan)];
    database.store.enqueue(&Job { does: Does::Block(2_600) }).await.unwrap();
    database.until_done(SOON, 1).await;
    assert_eq!(begun(&plan), 1, "{:?}", journal::read(&plan.journal));
    assert_eq!(database.number("SELECT attempts FROM processed_events").await, 1);
    drop(workers);
}

#[tokio::test]
async fn rows_of_a_killed_worker_are_done_within_lease_and_five_seconds() {
    let database = Database::new().await;
    database.run(COUNT_TABLES).await;
    let plan = Plan { concurrency: 20, lease_ms: 1_500, ..Plan::new(database.file(), database.journal()) };
    let mut first = Process::worker(&plan);
    let mut tx = database.store.pool().begin_with("BEGIN IMMEDIATE").await.unwrap();
    let jobs = (0..20).map(|_| NewEvent::new(&Job { does: Does::Sleep(700) }).unwrap());
    enqueue_events(&mut tx, jobs).await.unwrap();
    tx.commit().await.unwrap();
    wait_for_begins(&plan, &first, 20);
    first.kill();
    assert_eq!(
        database.number("SELECT count(*) FROM processed_events WHERE status = 'in_progress'").await,
        20
    );
    // Whatever a worker is called, its successor is another: it never takes its predecessor's claims for its own.
    let second = Process::worker(&plan);
    database.until_done(Duration::from_millis(1_500 + 5_000), 20).await;
    assert_eq!(database.number("SELECT max(attempts) FROM processed_events").await, 2);
    drop(second);
}

#[tokio::test]
async fn a_worker_stopped_past_its_lease_runs_again_and_changes_nothing() {
    let database = Database::new().await;
    let plan = Plan { lease_ms: 600, ..Plan::new(database.file(), database.journal()) };
    let stopped = Process::worker(&plan);
    database.store.enqueue(&Job { does: Does::Sleep(400) }).await.unwrap();
    wait_for_begins(&plan, &stopped, 1);
    stopped.signal(Signal::SIGSTOP);
    let other = Process::worker(&plan);
    database.until_done(SOON, 1).await;
    let row = "SELECT status || ' ' || owner || ' ' || attempts || ' ' || started_at || ' ' || processed_at
        || ' ' || coalesce(last_error, '-') FROM processed_events";
    let before = database.texts(row).await;
    stopped.signal(Signal::SIGCONT);
    let fenced = || stopped.printed().contains("lease lost");
    wait_until("the resumed worker finds its lease lost", SOON, fenced, || stopped.printed());
    assert_eq!(database.texts(row).await, before);
    // It has learnt of it at its next await, and so has not come to the end of its work.
    let ends: Vec<_> =
        journal::entries(&plan.journal, "end").into_iter().map(|entry| entry.process).collect();
    assert_eq!(ends, [other.id()]);
    // It goes on with other work.
    drop(other);
    database.store.enqueue(&Job { does: Does::Nothing }).await.unwrap();
    database.until_done(SOON, 2).await;
}

#[tokio::test]
async fn the_effect_of_a_transactional_handler_is_there_once_whoever_was_stopped_within_it() {
    let database = Database::new().await;
    database.run(COUNT_TABLES).await;
    let plan = Plan {
        lease_ms: 500,
        concurrency: 4,
        busy_timeout_ms: 100,
        ..Plan::new(database.file(), database.journal())
    };
    let stopped = Process::worker(&plan);
    let other = Process::worker(&plan);
    for n in 0..6 {
        database.store.enqueue(&Count { does: Does::Sleep(60) }).await.unwrap();
        let begins = |id: u32| {
            let all = journal::entries(&plan.journal, "begin");
            all.iter().filter(|entry| entry.process == id).count()
        };
        let before = begins(stopped.id());
        // Stopped within the transaction, it holds the write lock, so that nobody else gets anywhere. Stopped elsewhere,
        // the other takes over.
        let limit = Duration::from_millis(300);
        let started = std::time::Instant::now();
        while begins(stopped.id()) == before && started.elapsed() < limit {
            std::thread::sleep(Duration::from_millis(1));
        }
        stopped.signal(Signal::SIGSTOP);
        tokio::time::sleep(Duration::from_millis(700 + n * 20)).await;
        stopped.signal(Signal::SIGCONT);
    }
    database.until_done(SOON, 6).await;
    assert_eq!(database.number("SELECT value FROM counter").await, 6);
    assert_eq!(database.number("SELECT count(DISTINCT event_id) FROM effect").await, 6);
    drop((stopped, other));
}
