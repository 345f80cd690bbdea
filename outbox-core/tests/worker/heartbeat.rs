//! Leases of long runs, and what happens when they cannot be renewed.

use std::sync::Arc;

use outbox_core::{
    ClaimState, Delivery, EventState, Health, NewEvent, RuntimeHandler, Worker, WorkerBuilder,
};

use crate::faults::{BUSY, Fault, Faults, FaultyBus, FaultyLedger};
use crate::support::{Bench, Running, Runs, closed_gate, eventually, quiet, seconds};

/// A worker on this store whose calls may fail.
fn faulty(bench: &Bench, faults: &Faults) -> WorkerBuilder {
    let bus = FaultyBus { bus: bench.store.bus(), faults: faults.clone() };
    let ledger = FaultyLedger { ledger: bench.store.ledger(), faults: faults.clone() };
    Worker::builder(bus, ledger).clock(Arc::new(bench.clock.clone())).only_given_handlers()
}

/// Lets the time of a beat pass, and waits for it.
async fn beat(bench: &Bench, faults: &Faults) {
    let before = faults.times("extend");
    bench.clock.advance(seconds(20));
    eventually("a beat", async || faults.times("extend") > before).await;
}

#[tokio::test]
async fn a_long_handler_is_renewed_and_runs_once() {
    let bench = Bench::new();
    let (runs, gate) = (Runs::new(&bench), closed_gate());
    let handler = runs.gated_handler(&gate).timeout(seconds(1_000));
    let (one, other) = (bench.start(handler.clone()), bench.start(handler));
    let id = bench.enqueue(NewEvent::raw("t", "{}")).await;
    runs.until(1).await;
    for _ in 0..15 {
        bench.until_renewed(id).await;
    }
    gate.add_permits(1);
    bench.until_state(id, EventState::Done).await;
    let progress = bench.progress(id, "h").await;
    assert_eq!((progress.attempts, runs.count()), (1, 1));
    one.stop().await;
    other.stop().await;
}

/// Recipe "lease: blocking handler starves the heartbeat": one thread for the whole worker, and the handler blocks it.
#[test]
fn a_handler_that_blocks_its_thread_does_not_starve_the_heartbeat() {
    let bench = Arc::new(Bench::new());
    let (begun, has_begun) = std::sync::mpsc::channel::<()>();
    let (open, wait) = std::sync::mpsc::channel::<()>();
    let wait = Arc::new(std::sync::Mutex::new(wait));
    let worker = std::thread::spawn({
        let bench = Arc::clone(&bench);
        move || {
            let handler = RuntimeHandler::new("h", "t", move |_, _: Delivery| {
                begun.send(()).unwrap();
                let wait = Arc::clone(&wait);
                async move { wait.lock().unwrap().recv().map_err(|error| error.to_string()) }
            });
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
            runtime.block_on(async {
                let running = bench.start(handler.timeout(seconds(1_000)));
                let id = bench.enqueue(NewEvent::raw("t", "{}")).await;
                bench.until_state(id, EventState::Done).await;
                assert_eq!(bench.progress(id, "h").await.attempts, 1);
                running.stop().await;
            });
        }
    });
    has_begun.recv_timeout(seconds(20)).expect("the handler blocks");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        // A second worker would take over at once if the lease ran out.
        let other = bench.start(RuntimeHandler::new("h", "t", |_, _| async { Err::<(), _>("taken over") }));
        for _ in 0..10 {
            bench.clock.advance(seconds(20));
            quiet().await;
        }
        open.send(()).unwrap();
        other.stop().await;
    });
    worker.join().expect("the event was handled once, by the worker that was blocked");
}

#[tokio::test]
async fn a_heartbeat_that_fails_stops_the_fetching_and_shows_in_health() {
    let bench = Bench::new();
    let (runs, gate, faults) = (Runs::new(&bench), closed_gate(), Faults::default());
    let handler = runs.gated_handler(&gate).timeout(seconds(1_000));
    let running = Running::start(faulty(&bench, &faults).runtime_handler(handler));
    let first = bench.enqueue(NewEvent::raw("t", "{}")).await;
    runs.until(1).await;
    eventually("it is ready", async || running.worker.health().is_ready()).await;

    faults.set("renew", BUSY);
    beat(&bench, &faults).await;
    eventually("it is degraded", async || {
        matches!(running.worker.health(), Health::Degraded { reasons } if reasons[0].contains("heartbeat"))
    })
    .await;
    let received = faults.times("receive");
    let second = bench.enqueue(NewEvent::raw("t", "{}")).await;
    bench.clock.advance(seconds(5));
    quiet().await;
    // The wake-up may have met a receive that was under way.
    assert!(faults.times("receive") <= received + 1, "nothing is fetched");

    faults.clear();
    beat(&bench, &faults).await;
    gate.add_permits(2);
    eventually("it is ready again", async || running.worker.health().is_ready()).await;
    eventually("both are done", async || {
        bench.clock.advance(seconds(1));
        bench.state(first).await == Some(EventState::Done)
            && bench.state(second).await == Some(EventState::Done)
    })
    .await;
    assert_eq!(runs.of(first).len(), 1);
    running.stop().await;
}

/// A store that neither answers nor fails is as good as gone; so is one whose code panics.
#[tokio::test]
async fn a_heartbeat_that_hangs_or_panics_has_failed() {
    for fault in [Fault::Hangs, Fault::Panics] {
        let bench = Bench::new();
        let (runs, gate, faults) = (Runs::new(&bench), closed_gate(), Faults::default());
        let handler = runs.gated_handler(&gate).timeout(seconds(1_000));
        let running = Running::start(faulty(&bench, &faults).runtime_handler(handler));
        let id = bench.enqueue(NewEvent::raw("t", "{}")).await;
        runs.until(1).await;
        faults.set("extend", fault);
        beat(&bench, &faults).await;
        // The next beat is due and this one is not over.
        bench.clock.advance(seconds(20));
        eventually("it is degraded", async || matches!(running.worker.health(), Health::Degraded { .. }))
            .await;
        faults.clear();
        gate.add_permits(2);
        bench.until_state(id, EventState::Done).await;
        running.stop().await;
    }
}

/// Another worker took over while the leases of this one could not be renewed. When its heartbeat learns of that, the
/// run is dropped at once, and nothing is written over the newer claim.
#[tokio::test]
async fn a_run_whose_lease_was_taken_over_is_dropped() {
    let bench = Bench::new();
    let (runs, gate, faults) = (Runs::new(&bench), closed_gate(), Faults::default());
    let handler = runs.gated_handler(&gate).timeout(seconds(1_000));
    let cut_off = Running::start(faulty(&bench, &faults).runtime_handler(handler));
    let id = bench.enqueue(NewEvent::raw("t", "{}")).await;
    runs.until(1).await;
    for call in ["renew", "extend", "receive"] {
        faults.set(call, BUSY);
    }
    for _ in 0..2 {
        beat(&bench, &faults).await;
    }
    bench.clock.advance(seconds(19));
    let (others, open) = (Runs::new(&bench), closed_gate());
    let other = bench.start(others.gated_handler(&open).timeout(seconds(1_000)));
    assert_eq!(runs.going(), 1);
    bench.clock.advance(seconds(1));
    others.until(1).await;
    eventually("the run is dropped", async || {
        bench.clock.advance(seconds(1));
        runs.going() == 0
    })
    .await;
    let progress = bench.progress(id, "h").await;
    assert_eq!((progress.state, progress.attempts), (Some(ClaimState::InProgress), 2));
    open.add_permits(1);
    bench.until_state(id, EventState::Done).await;
    assert_eq!((runs.count(), others.count()), (1, 1));
    faults.clear();
    cut_off.stop().await;
    other.stop().await;
}

/// A process that was stopped, heartbeat and all, until its lease was over learns so at its next await: what comes after
/// that await does not happen.
#[tokio::test]
async fn a_stopped_process_learns_at_its_next_await_that_its_lease_is_over() {
    let bench = Bench::new();
    let (gate, faults) = (closed_gate(), Faults::default());
    let (runs, effects) = (Runs::new(&bench), Runs::new(&bench));
    let handler = {
        let (runs, effects, gate) = (runs.clone(), effects.clone(), Arc::clone(&gate));
        RuntimeHandler::new("h", "t", move |_, delivery| {
            let (going, effects, gate) = (runs.begin(&delivery), effects.clone(), Arc::clone(&gate));
            async move {
                let _going = going;
                gate.acquire().await.expect("the gate stays").forget();
                drop(effects.begin(&delivery));
                Ok::<(), String>(())
            }
        })
    };
    let stopped = Running::start(faulty(&bench, &faults).runtime_handler(handler.timeout(seconds(1_000))));
    let id = bench.enqueue(NewEvent::raw("t", "{}")).await;
    runs.until(1).await;
    faults.set("renew", Fault::Hangs);
    faults.set("extend", Fault::Hangs);
    faults.set("receive", Fault::Hangs);
    bench.clock.advance(seconds(60));
    // The handler's await is over, and so is its lease.
    gate.add_permits(1);
    eventually("the run is dropped", async || runs.going() == 0).await;
    assert_eq!(effects.count(), 0);
    let progress = bench.progress(id, "h").await;
    assert_eq!((progress.state, progress.attempts), (Some(ClaimState::InProgress), 1), "nothing was written");
    stopped.shut_down();
}
