//! How many handlers run at a time, and who waits for whom.

use std::sync::Arc;

use outbox_core::{
    EventState, MemoryBus, MemoryLedger, NewEvent, Publisher, RuntimeHandler, Worker, WorkerSettings,
};

use crate::support::{Bench, Running, Runs, closed_gate, eventually, quiet, seconds};

fn at_most(concurrency: usize) -> WorkerSettings {
    WorkerSettings { concurrency, ..WorkerSettings::default() }
}

#[tokio::test]
async fn no_more_handlers_run_at_a_time_than_the_concurrency_allows() {
    let bench = Bench::new();
    let (runs, gate) = (Runs::new(&bench), closed_gate());
    let settings = at_most(3);
    let running =
        Running::start(bench.worker().runtime_handler(runs.gated_handler(&gate)).settings(settings));
    let ids = bench.enqueue_numbers(0..20).await;
    eventually("three run", async || runs.going() == 3).await;
    quiet().await;
    assert_eq!(runs.count(), 3);
    gate.add_permits(20);
    bench.until_all_done(&ids).await;
    assert_eq!((runs.most_at_a_time(), runs.count()), (3, 20));
    running.stop().await;
}

/// Two handlers of one event are two runs.
#[tokio::test]
async fn the_handlers_of_one_event_count_each() {
    let bench = Bench::new();
    let (runs, gate) = (Runs::new(&bench), closed_gate());
    let second = {
        let (runs, gate) = (runs.clone(), Arc::clone(&gate));
        RuntimeHandler::new("second", "t", move |_, delivery| {
            let (going, gate) = (runs.begin(&delivery), Arc::clone(&gate));
            async move {
                let _going = going;
                gate.acquire().await.expect("the gate stays").forget();
                Ok::<(), String>(())
            }
        })
    };
    let builder = bench.worker().runtime_handler(runs.gated_handler(&gate)).runtime_handler(second);
    let running = Running::start(builder.settings(at_most(3)));
    let ids = bench.enqueue_numbers(0..10).await;
    eventually("three run", async || runs.going() == 3).await;
    gate.add_permits(20);
    bench.until_all_done(&ids).await;
    assert_eq!((runs.most_at_a_time(), runs.count()), (3, 20));
    running.stop().await;
}

/// A slow handler takes a slot, whatever its siblings on the same event have done.
#[tokio::test]
async fn slow_handlers_whose_siblings_have_ended_keep_no_others_waiting() {
    let bench = Bench::new();
    let (slow, quick, gate) = (Runs::new(&bench), Runs::new(&bench), closed_gate());
    let sibling = {
        let quick = quick.clone();
        RuntimeHandler::new("sibling", "t", move |_, delivery| {
            drop(quick.begin(&delivery));
            async { Ok::<(), String>(()) }
        })
    };
    let other = RuntimeHandler::new("other", "u", |_, _| async { Ok::<(), String>(()) });
    let builder = bench.worker().runtime_handler(slow.gated_handler(&gate)).runtime_handler(sibling);
    let running = Running::start(builder.runtime_handler(other).settings(at_most(8)));
    let ids = bench.enqueue_numbers(0..4).await;
    eventually("four are slow", async || slow.going() == 4 && quick.count() == 4).await;
    for _ in 0..20 {
        let event = bench.enqueue(NewEvent::raw("u", "{}")).await;
        bench.until_state(event, EventState::Done).await;
    }
    assert_eq!(slow.going(), 4);
    gate.add_permits(4);
    bench.until_all_done(&ids).await;
    running.stop().await;
}

/// Also on a bus that delivers whole events, whose handlers may be more than the worker has room for.
#[tokio::test]
async fn the_concurrency_holds_on_a_bus_that_grants_no_claims() {
    let bench = Bench::new();
    let runs = Runs::new(&bench);
    let clock = || Arc::new(bench.clock.clone());
    let bus = MemoryBus::new().with_clock(clock());
    let mut builder = Worker::builder(bus.clone(), MemoryLedger::new().with_clock(clock()))
        .clock(clock())
        .only_given_handlers()
        .settings(at_most(2));
    let gate = closed_gate();
    for name in ["a", "b", "c"] {
        let (runs, gate) = (runs.clone(), Arc::clone(&gate));
        builder = builder.runtime_handler(RuntimeHandler::new(name, "t", move |_, delivery| {
            let (going, gate) = (runs.begin(&delivery), Arc::clone(&gate));
            async move {
                let _going = going;
                gate.acquire().await.expect("the gate stays").forget();
                Ok::<(), String>(())
            }
        }));
    }
    let running = Running::start(builder);
    for _ in 0..4 {
        let ready = NewEvent::raw("t", "{}").ready(bench.store.now()).unwrap();
        bus.publish(&[ready.envelope]).await;
    }
    eventually("two run", async || runs.going() == 2).await;
    gate.add_permits(12);
    runs.until(12).await;
    eventually("all have ended", async || runs.going() == 0).await;
    assert_eq!((runs.most_at_a_time(), runs.count()), (2, 12));
    running.stop().await;
}

/// Recipe "polling: head-of-line starvation by blocked or backing-off rows".
#[tokio::test]
async fn events_that_fail_or_are_not_due_do_not_starve_a_good_one() {
    let bench = Bench::new();
    let runs = Runs::new(&bench);
    let handler = {
        let runs = runs.clone();
        RuntimeHandler::new("h", "t", move |payload, delivery| {
            drop(runs.begin(&delivery));
            async move { if payload == "0" { Ok(()) } else { Err("always") } }
        })
    };
    let delayed = (0..200).map(|_| NewEvent::raw("t", "1").after(seconds(3_600))).collect();
    bench.store.enqueue_all(delayed).await.unwrap();
    let failing = bench.enqueue_numbers(1..201).await;
    let running = Running::start(bench.worker().runtime_handler(handler).settings(at_most(20)));
    let good = bench.enqueue_numbers(0..1).await;
    bench.until_all_done(&good).await;
    assert_eq!(runs.of(good[0]).len(), 1);
    bench.clock.advance(seconds(5) - crate::support::MILLISECOND);
    runs.until(201).await;
    quiet().await;
    for id in failing {
        assert_eq!(runs.of(id).len(), 1, "no failing event is tried twice in the first five seconds");
    }
    running.stop().await;
}

/// One key at a time, in order, though there is room for more.
#[tokio::test]
async fn events_of_one_key_are_handled_in_order() {
    let bench = Bench::new();
    let runs = Runs::new(&bench);
    let running = bench.start(runs.handler());
    let events = (0..30).map(|n| NewEvent::raw("t", "{}").key(format!("k{}", n % 3))).collect();
    let written = bench.store.enqueue_all(events).await.unwrap();
    let ids: Vec<_> = written.iter().map(|written| written.id).collect();
    bench.until_all_done(&ids).await;
    for key in 0..3 {
        let of_key: Vec<_> = ids.iter().skip(key).step_by(3).copied().collect();
        let begun: Vec<_> =
            runs.all().iter().map(|run| run.event_id).filter(|id| of_key.contains(id)).collect();
        assert_eq!(begun, of_key);
    }
    assert_eq!(bench.state(ids[0]).await, Some(EventState::Done));
    running.stop().await;
}
