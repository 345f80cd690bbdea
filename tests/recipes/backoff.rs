//! Retries come when the schedule says, after however many failures.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use outbox::prelude::*;
use outbox::{Backoff, BuildError};
use tokio::sync::mpsc;

use crate::support::database::Database;
use crate::support::running::{Running, quick};

const SOON: Duration = Duration::from_secs(20);

fn failing() -> RuntimeHandler {
    RuntimeHandler::new("fails", "test.fails", |_, _| async { Err::<(), _>("as planned") })
}

async fn enqueue_one(database: &Database) {
    let mut tx = database.store.pool().begin_with("BEGIN IMMEDIATE").await.unwrap();
    enqueue_events(&mut tx, [NewEvent::raw("test.fails", "1")]).await.unwrap();
    tx.commit().await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_gap_between_attempts_is_shorter_than_its_delay_nor_much_longer_than_the_cap() {
    const ATTEMPTS: u32 = 40;
    let database = Database::new().await;
    let (tell, mut told) = mpsc::unbounded_channel();
    let handler = RuntimeHandler::new("fails", "test.fails", move |_, delivery| {
        let told = tell.send((delivery.attempt, SystemTime::now()));
        async move { told.map_err(|_| "nobody listens").and(Err::<(), _>("as planned")) }
    });
    let backoff = Backoff { base: Duration::from_millis(1), cap: Duration::from_millis(60) };
    let settings = WorkerSettings { max_attempts: 1_000, backoff, poll: Duration::from_secs(60), ..quick() };
    let running = Running::start(database.worker().settings(settings).runtime_handler(handler));
    enqueue_one(&database).await;
    let mut last = UNIX_EPOCH;
    let mut late = 0;
    for expected in 1..=ATTEMPTS {
        let next = tokio::time::timeout(SOON, told.recv()).await.expect("an attempt in time");
        let (attempt, at) = next.expect("the handler lives");
        assert_eq!(attempt, expected);
        if attempt > 1 {
            let gap = at.duration_since(last).expect("attempts follow each other");
            let least = backoff.delay(attempt - 1);
            // Times are kept in whole milliseconds.
            assert!(
                gap + Duration::from_millis(1) >= least,
                "{gap:?} before attempt {attempt}, not {least:?}"
            );
            late += u32::from(gap > backoff.cap + Duration::from_millis(100));
        }
        last = at;
    }
    // No wake-up by polling is in this, but the machine may be busy.
    assert!(late <= ATTEMPTS / 4, "{late} of {ATTEMPTS} attempts came late");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn after_any_number_of_failures_the_delay_is_the_cap() {
    let database = Database::new().await;
    let settings = WorkerSettings { max_attempts: 8_000, backoff: Backoff::default(), ..quick() };
    let running = Running::start(database.worker().settings(settings).runtime_handler(failing()));
    enqueue_one(&database).await;
    database.until(SOON, "SELECT count(*) = 1 FROM processed_events WHERE status = 'released'").await;
    for (failures, seconds) in [
        (1, 5),
        (2, 10),
        (6, 160),
        (7, 300),
        (31, 300),
        (32, 300),
        (33, 300),
        (64, 300),
        (65, 300),
        (7_999, 300),
    ] {
        let spent = failures - 1;
        database
            .run(&format!(
                "UPDATE processed_events SET attempts = {spent}, lease_until = 0;
                 UPDATE event_queue SET available_at = 0, waits_for = ''"
            ))
            .await;
        let failed = format!("SELECT status = 'released' AND attempts = {failures} FROM processed_events");
        database.until(SOON, &failed).await;
        // From the failure on, which came within moments after the attempt began.
        let delay = database.number("SELECT lease_until - started_at FROM processed_events").await;
        let expected = seconds * 1_000..seconds * 1_000 + 2_000;
        assert!(expected.contains(&delay), "{delay} ms after {failures} failures");
    }
    running.stop().await;
}

#[tokio::test]
async fn more_attempts_than_the_ledger_remembers_are_refused_at_start() {
    let database = Database::new().await;
    let settings = WorkerSettings { max_attempts: u32::MAX, ..WorkerSettings::default() };
    match database.worker().settings(settings).runtime_handler(failing()).build() {
        Err(BuildError::Setting(error)) => {
            let text = error.to_string();
            assert!(text.contains("EVENT_LEDGER_RETENTION_DAYS") && text.contains("max_attempts"), "{text}");
        }
        other => panic!("{other:?}"),
    }
    // So is a ledger that forgets before the last retry, however few attempts there are.
    let mut settings = WorkerSettings::default();
    settings.retention.ledger = Duration::from_secs(2);
    let refused = database.worker().settings(settings).runtime_handler(failing()).build();
    assert!(matches!(refused, Err(BuildError::Setting(_))), "{refused:?}");
    // And one handler's own terms are judged, too.
    let patient = failing().max_attempts(1_000_000);
    let refused = database.worker().settings(WorkerSettings::default()).runtime_handler(patient).build();
    match refused {
        Err(BuildError::Setting(error)) => {
            assert!(error.to_string().contains("handler \"fails\""), "{error}");
        }
        other => panic!("{other:?}"),
    }
}
