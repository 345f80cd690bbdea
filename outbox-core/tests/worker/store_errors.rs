//! A store that fails: the worker goes on trying, says so once, and runs nothing twice.

use std::sync::Arc;

use outbox_core::{
    ClaimState, EventState, Health, NewEvent, StoreErrorKind, Worker, WorkerBuilder, WorkerError,
};

use crate::faults::{BUSY, FULL, Fault, Faults, FaultyBus, FaultyLedger};
use crate::support::logs::Logs;
use crate::support::{Bench, Running, Runs, eventually, quiet, seconds};

fn faulty(bench: &Bench, faults: &Faults) -> WorkerBuilder {
    let bus = FaultyBus { bus: bench.store.bus(), faults: faults.clone() };
    let ledger = FaultyLedger { ledger: bench.store.ledger(), faults: faults.clone() };
    Worker::builder(bus, ledger).clock(Arc::new(bench.clock.clone())).only_given_handlers()
}

/// Bus and ledger of two stores, so that the worker claims by itself.
fn faulty_apart(bench: &Bench, faults: &Faults) -> WorkerBuilder {
    let ledger = outbox_core::MemoryLedger::new().with_clock(Arc::new(bench.clock.clone()));
    let bus = FaultyBus { bus: bench.store.bus(), faults: faults.clone() };
    let ledger = FaultyLedger { ledger, faults: faults.clone() };
    Worker::builder(bus, ledger).clock(Arc::new(bench.clock.clone())).only_given_handlers()
}

#[tokio::test]
async fn a_store_that_cannot_be_read_is_tried_again_in_growing_pauses_and_logged_once() {
    let logs = Logs::collect();
    let bench = Bench::new();
    let (runs, faults) = (Runs::new(&bench), Faults::default());
    faults.set("receive", FULL);
    let running = Running::start(faulty(&bench, &faults).runtime_handler(runs.handler()));
    for (failures, pause_ms) in (1..).zip([50, 100, 200, 400, 800, 1_600, 2_000, 2_000]) {
        eventually(&format!("failure {failures}"), async || faults.times("receive") == failures).await;
        bench.clock.advance(std::time::Duration::from_millis(pause_ms - 1));
        quiet().await;
        assert_eq!(faults.times("receive"), failures, "not before {pause_ms} ms have passed");
        bench.clock.advance(std::time::Duration::from_millis(1));
    }
    let expected = Health::Degraded { reasons: vec!["receive: injected fault".to_owned()] };
    assert_eq!(running.worker.health(), expected);

    faults.clear();
    bench.clock.advance(seconds(2));
    let id = bench.enqueue(NewEvent::raw("t", "{}")).await;
    eventually("it is done", async || {
        bench.clock.advance(seconds(1));
        bench.state(id).await == Some(EventState::Done)
    })
    .await;
    assert!(running.worker.health().is_ready());
    assert_eq!(logs.count("outbox.store.failing"), 1, "{logs:?}");
    assert_eq!(logs.count("outbox.store.recovered"), 1, "{logs:?}");
    assert!(logs.text().contains("free disk space"), "the remedy is told: {logs:?}");
    running.stop().await;
}

/// Recipe "batch: one failure in a batch retries the successes", its second half: the result cannot be written for a
/// while. Each call in turn, refused or with its answer lost.
#[tokio::test]
async fn a_result_that_cannot_be_written_is_written_later_and_nothing_runs_twice() {
    for call in ["done", "settle"] {
        for fault in [BUSY, FULL, Fault::AnswerLost] {
            let bench = Bench::new();
            let (runs, faults) = (Runs::new(&bench), Faults::default());
            let running = Running::start(faulty(&bench, &faults).runtime_handler(runs.handler()));
            faults.set(call, fault);
            let ids = bench.enqueue_numbers(0..5).await;
            runs.until(5).await;
            for _ in 0..6 {
                bench.clock.advance(seconds(1));
                quiet().await;
            }
            assert!(matches!(running.worker.health(), Health::Degraded { .. }), "{call}");
            faults.clear();
            eventually(&format!("all are done after {call} failed"), async || {
                bench.clock.advance(seconds(1));
                let mut all = true;
                for id in &ids {
                    all &= bench.state(*id).await == Some(EventState::Done);
                }
                all
            })
            .await;
            assert_eq!(runs.count(), 5, "{call}");
            running.stop().await;
        }
    }
}

#[tokio::test]
async fn a_failure_that_cannot_be_written_is_written_later_with_its_own_due_time() {
    for (call, attempts) in [("release", 3), ("bury", 1)] {
        for fault in [BUSY, Fault::AnswerLost] {
            let bench = Bench::new();
            let (runs, faults) = (Runs::new(&bench), Faults::default());
            let handler = runs.failing_handler().max_attempts(attempts);
            let running = Running::start(faulty(&bench, &faults).runtime_handler(handler));
            faults.set(call, fault);
            let id = bench.enqueue(NewEvent::raw("t", "{}")).await;
            eventually("it was tried", async || faults.times(call) >= 1).await;
            let failed_at = runs.all()[0].at;
            faults.clear();
            bench.clock.advance(seconds(1));
            let expected = if call == "bury" { ClaimState::Dead } else { ClaimState::Released };
            eventually("the failure is written", async || {
                bench.progress(id, "h").await.state == Some(expected)
            })
            .await;
            let progress = bench.progress(id, "h").await;
            assert_eq!((progress.attempts, progress.last_error.as_deref()), (1, Some("no network")));
            if call == "release" {
                assert_eq!(progress.lease_until, Some(failed_at.after(seconds(5))));
            }
            running.stop().await;
        }
    }
}

/// A disk that is full can still be read: that is no recovery, and no reason to log the same again and again.
#[tokio::test]
async fn a_store_that_can_be_read_but_not_written_is_logged_once() {
    let logs = Logs::collect();
    let bench = Bench::new();
    let (runs, faults) = (Runs::new(&bench), Faults::default());
    for call in ["done", "release", "settle"] {
        faults.set(call, FULL);
    }
    let running = Running::start(faulty(&bench, &faults).runtime_handler(runs.handler()));
    bench.enqueue_numbers(0..3).await;
    runs.until(3).await;
    for _ in 0..20 {
        let before = faults.times("receive");
        bench.clock.advance(seconds(2));
        eventually("it looks for work", async || faults.times("receive") > before).await;
    }
    assert!(faults.times("done") >= 10, "it goes on trying");
    assert_eq!(
        (logs.count("outbox.store.failing"), logs.count("outbox.store.recovered")),
        (1, 0),
        "{logs:?}"
    );
    faults.clear();
    running.shut_down();
    eventually("it ends", async || {
        bench.clock.advance(seconds(1));
        running.has_ended()
    })
    .await;
    running.ended().await.unwrap();
    assert_eq!(runs.count(), 3);
}

/// Where the worker claims by itself, a claim that could not be asked for is asked for again soon.
#[tokio::test]
async fn a_claim_that_cannot_be_asked_for_is_asked_for_again() {
    let bench = Bench::new();
    let (runs, faults) = (Runs::new(&bench), Faults::default());
    faults.set("claim", BUSY);
    let running = Running::start(faulty_apart(&bench, &faults).runtime_handler(runs.handler()));
    let id = bench.enqueue(NewEvent::raw("t", "{}")).await;
    eventually("it was asked for", async || faults.times("claim") == 1).await;
    eventually("it was put off", async || faults.times("settle") == 1).await;
    faults.clear();
    bench.clock.advance(seconds(1));
    bench.until_state(id, EventState::Done).await;
    assert_eq!(runs.count(), 1);
    running.stop().await;
}

/// Whatever fails, and in which way, the worker lives, and when it is over everything is handled once.
#[tokio::test]
async fn no_failure_of_the_store_ends_the_worker() {
    let bench = Bench::new();
    let (runs, faults) = (Runs::new(&bench), Faults::default());
    let running = Running::start(faulty(&bench, &faults).runtime_handler(runs.handler()));
    let mut ids = Vec::new();
    for call in ["receive", "settle", "done", "extend", "renew", "next_due", "maintain"] {
        for kind in [
            StoreErrorKind::Busy,
            StoreErrorKind::Full,
            StoreErrorKind::ReadOnly,
            StoreErrorKind::Unavailable,
            StoreErrorKind::Corrupt,
            StoreErrorKind::Other,
        ] {
            faults.set(call, Fault::Refused(kind));
            ids.extend(bench.enqueue_numbers(0..1).await);
            bench.clock.advance(seconds(5));
            quiet().await;
            faults.clear();
        }
    }
    eventually("all are done", async || {
        bench.clock.advance(seconds(1));
        let mut all = true;
        for id in &ids {
            all &= bench.state(*id).await == Some(EventState::Done);
        }
        all
    })
    .await;
    for id in ids {
        assert_eq!(runs.of(id).len(), 1);
    }
    assert!(!running.has_ended());
    running.stop().await;
}

#[tokio::test]
async fn a_start_waits_for_a_store_that_is_busy_and_refuses_one_that_is_no_database() {
    let bench = Bench::new();
    let faults = Faults::default();
    faults.set("subscribe", Fault::Refused(StoreErrorKind::Unavailable));
    let running = Running::start(faulty(&bench, &faults).runtime_handler(Runs::new(&bench).handler()));
    eventually("it was tried", async || faults.times("subscribe") == 1).await;
    eventually("it is degraded", async || running.worker.health() != Health::Stopped).await;
    let health = running.worker.health();
    assert!(
        matches!(&health, Health::Degraded { reasons } if reasons[0].starts_with("subscribe: ")),
        "{health:?}"
    );
    faults.clear();
    bench.clock.advance(seconds(1));
    eventually("it is ready", async || running.worker.health().is_ready()).await;
    running.stop().await;

    faults.set("subscribe", Fault::Refused(StoreErrorKind::Corrupt));
    let running = Running::start(faulty(&bench, &faults).runtime_handler(Runs::new(&bench).handler()));
    let error = running.ended().await.unwrap_err();
    assert!(matches!(error, WorkerError::Start(_)), "{error}");
}
