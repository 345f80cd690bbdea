//! Recipe "worker: panic kills the worker".

use std::sync::{Arc, Mutex};

use outbox_core::{ClaimState, Delivery, EventState, RuntimeHandler, WorkerSettings};

use crate::support::{Bench, Running, Runs, eventually, seconds};

/// Panics when it is dropped.
struct Bomb(&'static str);

impl Drop for Bomb {
    fn drop(&mut self) {
        panic!("{}", self.0);
    }
}

/// A handler that panics in every way, by the payload of its event.
async fn panic_by(payload: &str, shared: &Mutex<u32>) -> Result<(), String> {
    match payload {
        "0" => panic!("a plain text"),
        "1" => panic!("a text with {}", "a value"),
        "2" => std::panic::panic_any(7_u64),
        "3" => {
            let _held = shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            panic!("while it holds a mutex");
        }
        "4" => {
            let _bomb = Bomb("while a value is dropped");
            tokio::task::yield_now().await;
            Ok(())
        }
        // What is thrown panics again when it is dropped.
        "5" => std::panic::panic_any(Bomb("while the panic is dropped")),
        _ => Ok(()),
    }
}

#[tokio::test]
async fn every_kind_of_panic_is_a_failed_attempt_with_its_text() {
    let bench = Bench::new();
    let shared = Arc::new(Mutex::new(0));
    let handler = RuntimeHandler::new("h", "t", move |payload, _| {
        let shared = Arc::clone(&shared);
        async move { panic_by(&payload, &shared).await }
    });
    let settings = WorkerSettings { concurrency: 2, max_attempts: 4, ..WorkerSettings::default() };
    let running = Running::start(bench.worker().runtime_handler(handler).settings(settings));
    let ids = bench.enqueue_numbers(0..16).await;
    let (bad, good) = ids.split_at(6);
    bench.until_all_done(good).await;

    for (attempt, gap) in [(1, 5), (2, 10), (3, 20)] {
        for id in bad {
            let due = bench.until_released(*id, "h", attempt).await;
            let begun = bench.progress(*id, "h").await.started_at.unwrap();
            assert_eq!(due.since(begun), seconds(gap));
        }
        bench.clock.advance(seconds(gap));
    }
    for id in bad {
        bench.until_state(*id, EventState::DeadLettered).await;
        assert_eq!(bench.progress(*id, "h").await.state, Some(ClaimState::Dead), "not left running");
    }
    let texts = [
        "panic: a plain text",
        "panic: a text with a value",
        "panic: (no text)",
        "panic: while it holds a mutex",
        "panic: while a value is dropped",
        "panic: (no text)",
    ];
    for (id, text) in bad.iter().zip(texts) {
        assert_eq!(bench.progress(*id, "h").await.last_error.as_deref(), Some(text));
    }
    let more = bench.enqueue_numbers(10..30).await;
    bench.until_all_done(&more).await;
    running.stop().await;
}

#[tokio::test]
async fn a_panic_frees_its_slot() {
    let bench = Bench::new();
    let runs = Runs::new(&bench);
    let gate = crate::support::closed_gate();
    let handler = {
        let (runs, gate) = (runs.clone(), Arc::clone(&gate));
        RuntimeHandler::new("h", "t", move |payload, delivery: Delivery| {
            let (runs, gate) = (runs.clone(), Arc::clone(&gate));
            async move {
                assert!(payload.len() > 1, "a short payload");
                let _going = runs.begin(&delivery);
                gate.acquire().await.expect("the gate stays").forget();
                Ok::<(), String>(())
            }
        })
    };
    let settings = WorkerSettings { concurrency: 2, max_attempts: 1, ..WorkerSettings::default() };
    let running = Running::start(bench.worker().runtime_handler(handler).settings(settings));
    bench.enqueue_numbers(0..10).await;
    let good = bench.enqueue_numbers(10..14).await;
    eventually("both slots are in use", async || runs.going() == 2).await;
    gate.add_permits(4);
    bench.until_all_done(&good).await;
    assert_eq!(runs.most_at_a_time(), 2);
    running.stop().await;
}

/// The future is dropped at the timeout, and a value in it panics then.
#[tokio::test]
async fn a_panic_while_a_handler_is_dropped_is_caught_too() {
    let bench = Bench::new();
    let runs = Runs::new(&bench);
    let handler = {
        let runs = runs.clone();
        RuntimeHandler::new("h", "t", move |payload, delivery: Delivery| {
            let going = runs.begin(&delivery);
            async move {
                let _bomb = (payload == "0").then(|| Bomb("in drop, at the timeout"));
                let _going = going;
                std::future::pending::<Result<(), String>>().await
            }
        })
    };
    let settings = WorkerSettings { concurrency: 1, max_attempts: 1, ..WorkerSettings::default() };
    let running =
        Running::start(bench.worker().runtime_handler(handler.timeout(seconds(1))).settings(settings));
    for (number, id) in bench.enqueue_numbers(0..2).await.into_iter().enumerate() {
        runs.until(number + 1).await;
        bench.clock.advance(seconds(1));
        bench.until_state(id, EventState::DeadLettered).await;
        let error = bench.progress(id, "h").await.last_error.unwrap_or_default();
        assert!(error.contains("timeout"), "{error}");
    }
    assert_eq!(runs.going(), 0);
    running.stop().await;
}
