//! A handler that is cut off at its timeout may have left a thread behind that works on.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use outbox::prelude::*;

use crate::support::database::Database;
use crate::support::running::{Running, quick};

const SOON: Duration = Duration::from_secs(20);

/// How many threads are at work, and how many were at once.
#[derive(Default)]
struct Threads {
    now: AtomicUsize,
    most: AtomicUsize,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_timed_out_run_left_behind_has_the_lease_to_finish_before_the_retry() {
    let database = Database::new().await;
    let lease = Duration::from_millis(1_200);
    let threads = Arc::new(Threads::default());
    let counted = Arc::clone(&threads);
    let handler = RuntimeHandler::new("slow", "test.slow", move |_, _| {
        let threads = Arc::clone(&counted);
        async move {
            let work = tokio::task::spawn_blocking(move || {
                let now = threads.now.fetch_add(1, Ordering::SeqCst) + 1;
                threads.most.fetch_max(now, Ordering::SeqCst);
                std::thread::sleep(Duration::from_millis(900));
                threads.now.fetch_sub(1, Ordering::SeqCst);
            });
            work.await.map_err(|error| error.to_string())
        }
    });
    let settings = WorkerSettings { max_attempts: 3, lease, timeout: Duration::from_millis(200), ..quick() };
    let running = Running::start(database.worker().settings(settings).runtime_handler(handler));
    let mut tx = database.store.pool().begin_with("BEGIN IMMEDIATE").await.unwrap();
    enqueue_events(&mut tx, [NewEvent::raw("test.slow", "1")]).await.unwrap();
    tx.commit().await.unwrap();
    for attempt in 1..=2 {
        let released =
            format!("SELECT status = 'released' AND attempts = {attempt} FROM processed_events LIMIT 1");
        database.until(SOON, &format!("SELECT coalesce(({released}), 0)")).await;
        let row = "SELECT last_error FROM processed_events";
        let error = database.texts(row).await.remove(0);
        let says_so =
            error.starts_with("timeout: still running after 200ms") && error.contains("may still run");
        assert!(says_so, "{error}");
        let due = database.number("SELECT lease_until - started_at FROM processed_events").await;
        assert!(due >= lease.as_millis() as i64, "the retry is due {due} ms after the attempt began");
    }
    database.until(SOON, "SELECT status = 'dead' AND attempts = 3 FROM processed_events").await;
    let error = database.texts("SELECT last_error FROM processed_events").await.remove(0);
    assert!(error.contains("timeout"), "{error}");
    assert_eq!(threads.most.load(Ordering::SeqCst), 1, "never two at once");
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_hangs_does_not_renew_its_lease_for_ever() {
    let database = Database::new().await;
    let handler =
        RuntimeHandler::new("hangs", "test.hangs", |_, _| std::future::pending::<Result<(), String>>());
    let settings = WorkerSettings {
        max_attempts: 1,
        lease: Duration::from_millis(400),
        timeout: Duration::from_millis(900),
        ..quick()
    };
    let running = Running::start(database.worker().settings(settings).runtime_handler(handler));
    let started = SystemTime::now();
    let mut tx = database.store.pool().begin_with("BEGIN IMMEDIATE").await.unwrap();
    enqueue_events(&mut tx, [NewEvent::raw("test.hangs", "1")]).await.unwrap();
    tx.commit().await.unwrap();
    database.until(SOON, "SELECT count(*) = 1 FROM processed_events WHERE status = 'dead'").await;
    assert!(started.elapsed().unwrap() >= Duration::from_millis(900));
    running.stop().await;
}
