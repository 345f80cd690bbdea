//! Nobody who tidies up takes work away from those who do it.

use std::collections::BTreeSet;
use std::time::Duration;

use outbox::DeadLetterFilter;
use outbox::prelude::*;

use crate::support::child::Plan;
use crate::support::database::Database;
use crate::support::handlers::{Does, Job};
use crate::support::journal;
use crate::support::process::Process;
use crate::support::wait::wait_until;

const SOON: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn restarts_and_an_operator_who_retries_in_a_loop_make_nothing_run_twice() {
    let database = Database::new().await;
    // Four workers that look for lost work five times a second.
    let plan = Plan {
        concurrency: 2,
        poll_ms: 200,
        lease_ms: 2_000,
        upkeep_ms: 200,
        ..Plan::new(database.file(), database.journal())
    };
    let mut workers: Vec<Process> = (0..4).map(|_| Process::worker(&plan)).collect();
    let stop = CancellationToken::new();
    let operator = tokio::spawn({
        let (admin, stop) = (database.store.admin(), stop.clone());
        async move {
            let mut retried = 0;
            while !stop.is_cancelled() {
                retried += admin.retry(&DeadLetterFilter::default()).await.expect("a retry");
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            retried
        }
    });
    for _ in 0..100 {
        database.store.enqueue(&Job { does: Does::Sleep(250) }).await.unwrap();
    }
    let begun = || journal::entries(&plan.journal, "begin").len();
    wait_until("a third is begun", SOON, || begun() >= 30, || workers[0].printed());
    for worker in &mut workers {
        worker.drains_within(Duration::from_secs(5));
        *worker = Process::worker(&plan);
    }
    database.until_done(SOON, 100).await;
    stop.cancel();
    assert_eq!(operator.await.unwrap(), 0, "there was nothing to retry");
    let begins = journal::entries(&plan.journal, "begin");
    let events: BTreeSet<_> = begins.iter().map(|entry| &entry.event).collect();
    assert_eq!((begins.len(), events.len()), (100, 100));
    assert_eq!(database.number("SELECT sum(attempts) FROM processed_events").await, 100);
}
