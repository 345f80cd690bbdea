//! SIGTERM: what runs is finished, what has not begun is somebody else's at once, and nothing stays claimed.

use std::time::Duration;

use nix::sys::signal::Signal;
use outbox::{NewEvent, enqueue_events};

use crate::support::child::{Plan, exit};
use crate::support::database::Database;
use crate::support::handlers::{Does, Job};
use crate::support::journal::{self, Entry};
use crate::support::process::Process;
use crate::support::wait::wait_until;

const SOON: Duration = Duration::from_secs(20);

async fn enqueue(database: &Database, jobs: usize, does: Does) {
    let mut tx = database.store.pool().begin_with("BEGIN IMMEDIATE").await.unwrap();
    let jobs = (0..jobs).map(|_| NewEvent::new(&Job { does: does.clone() }).unwrap());
    enqueue_events(&mut tx, jobs).await.unwrap();
    tx.commit().await.unwrap();
}

fn first_begin(plan: &Plan, process: &Process) -> Entry {
    let begun = || journal::entries(&plan.journal, "begin").into_iter().next();
    wait_until("a handler begins", SOON, || begun().is_some(), || process.printed());
    begun().unwrap()
}

#[tokio::test]
async fn sigterm_lets_the_running_event_finish_and_leaves_the_others_to_the_next_worker() {
    let database = Database::new().await;
    let plan = Plan { lease_ms: 1_000, ..Plan::new(database.file(), database.journal()) };
    let mut first = Process::worker(&plan);
    enqueue(&database, 10, Does::Sleep(1_500)).await;
    let running = first_begin(&plan, &first);
    let others = Plan { concurrency: 10, ..plan.clone() };
    let second = Process::worker(&others);
    // Before the signal the second takes what it can.
    first.signal(Signal::SIGTERM);
    let signalled = journal::now();
    let status = first.ends_within(Duration::from_secs(4));
    assert_eq!(status.code(), Some(exit::DRAINED), "{}", first.printed());
    database.until_done(SOON, 10).await;
    let begins = journal::entries(&plan.journal, "begin");
    assert_eq!(begins.len(), 10);
    let late = begins.iter().filter(|begin| begin.at > signalled + Duration::from_secs(1));
    assert_eq!(late.count(), 0, "unstarted events wait for no lease: {begins:?}");
    let ends = journal::entries(&plan.journal, "end");
    assert_eq!(ends.iter().filter(|end| end.process == running.process).count(), 1);
    assert_eq!(database.number("SELECT max(attempts) FROM processed_events").await, 1);
    drop(second);
}

async fn a_second_sigterm_ends_the_process_while_a_handler(does: Does) {
    let database = Database::new().await;
    let plan = Plan { lease_ms: 700, ..Plan::new(database.file(), database.journal()) };
    let mut first = Process::worker(&plan);
    enqueue(&database, 1, does).await;
    first_begin(&plan, &first);
    first.signal(Signal::SIGTERM);
    // Later than what would count as the same signal.
    std::thread::sleep(Duration::from_millis(1_200));
    assert!(first.is_running(), "{}", first.printed());
    first.signal(Signal::SIGTERM);
    let status = first.ends_within(Duration::from_millis(700));
    assert_eq!(status.code(), Some(exit::SECOND_SIGNAL), "{}", first.printed());
    let second = Process::worker(&plan);
    database.until_done(SOON, 1).await;
    assert_eq!(database.number("SELECT attempts FROM processed_events").await, 2);
    drop(second);
}

#[tokio::test]
async fn a_second_sigterm_ends_the_process_at_once_and_the_event_is_retried() {
    a_second_sigterm_ends_the_process_while_a_handler(Does::Sleep(4_000)).await;
}

#[tokio::test]
async fn a_second_sigterm_ends_the_process_even_if_a_handler_blocks_its_only_thread() {
    a_second_sigterm_ends_the_process_while_a_handler(Does::Block(4_000)).await;
}

/// Who stops a process often signals both it and its group.
#[tokio::test]
async fn signals_that_come_together_count_as_one() {
    let database = Database::new().await;
    let plan = Plan::new(database.file(), database.journal());
    let mut worker = Process::worker(&plan);
    enqueue(&database, 1, Does::Sleep(1_500)).await;
    first_begin(&plan, &worker);
    for signal in [Signal::SIGTERM, Signal::SIGINT, Signal::SIGTERM] {
        worker.signal(signal);
        std::thread::sleep(Duration::from_millis(20));
    }
    let status = worker.ends_within(SOON);
    assert_eq!(status.code(), Some(exit::DRAINED), "{}", worker.printed());
    database.until_done(SOON, 1).await;
    assert_eq!(database.number("SELECT attempts FROM processed_events").await, 1);
}

#[tokio::test]
async fn when_the_grace_period_is_over_the_process_fails_and_gives_the_event_back_unspent() {
    let database = Database::new().await;
    // A lease that the test would not outlive: whoever takes the event has been given it.
    let plan = Plan { lease_ms: 60_000, grace_ms: 300, ..Plan::new(database.file(), database.journal()) };
    let mut first = Process::worker(&plan);
    enqueue(&database, 1, Does::Sleep(1_500)).await;
    first_begin(&plan, &first);
    first.signal(Signal::SIGTERM);
    let status = first.ends_within(Duration::from_secs(2));
    assert_eq!(status.code(), Some(exit::GRACE_EXCEEDED), "{}", first.printed());
    let second = Process::worker(&plan);
    database.until_done(Duration::from_secs(10), 1).await;
    assert_eq!(journal::entries(&plan.journal, "begin").len(), 2);
    assert_eq!(database.number("SELECT attempts FROM processed_events").await, 1);
    drop(second);
}
