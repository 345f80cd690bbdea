//! Handlers that run too long.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use outbox_core::{ClaimState, Delivery, EventState, NewEvent, RuntimeHandler, WorkerSettings};

use crate::support::{Bench, MILLISECOND, Running, Runs, closed_gate, eventually, quiet, seconds};

#[tokio::test]
async fn a_handler_is_dropped_at_its_timeout_which_is_a_failed_attempt() {
    let bench = Bench::new();
    let runs = Runs::new(&bench);
    let running = bench.start(runs.gated_handler(&closed_gate()).timeout(seconds(7)));
    let id = bench.enqueue(NewEvent::raw("t", "{}")).await;
    runs.until(1).await;
    bench.clock.advance(seconds(7) - MILLISECOND);
    quiet().await;
    assert_eq!(runs.going(), 1);
    bench.clock.advance(MILLISECOND);
    bench.until_released(id, "h", 1).await;
    assert_eq!(runs.going(), 0, "its future was dropped");
    let error = bench.progress(id, "h").await.last_error.unwrap_or_default();
    assert!(error.contains("timeout") && error.contains("7s"), "{error}");
    running.stop().await;
}

#[tokio::test]
async fn the_worker_has_a_timeout_for_handlers_that_have_none() {
    let bench = Bench::new();
    let runs = Runs::new(&bench);
    let settings = WorkerSettings { timeout: seconds(3), ..WorkerSettings::default() };
    let handler = runs.gated_handler(&closed_gate());
    let running = Running::start(bench.worker().runtime_handler(handler).settings(settings));
    let id = bench.enqueue(NewEvent::raw("t", "{}")).await;
    runs.until(1).await;
    bench.clock.advance(seconds(3));
    bench.until_released(id, "h", 1).await;
    running.stop().await;
}

/// Recipe "lease: handler timeout leaves the work running": a thread that the handler started goes on after its timeout.
/// The retry waits for the end of the lease, which covers it, though the back-off is shorter.
#[tokio::test]
async fn work_that_a_handler_left_running_has_the_rest_of_the_lease_to_end() {
    let bench = Bench::new();
    let runs = Runs::new(&bench);
    let (open, wait) = std::sync::mpsc::channel::<()>();
    let wait = Arc::new(std::sync::Mutex::new(wait));
    let handler = {
        let runs = runs.clone();
        RuntimeHandler::new("h", "t", move |_, delivery| {
            let (going, wait) = (runs.begin(&delivery), Arc::clone(&wait));
            async move {
                let work = tokio::task::spawn_blocking(move || {
                    let _going = going;
                    wait.lock().unwrap().recv().expect("the test lets it end");
                });
                work.await.map_err(|error| error.to_string())
            }
        })
    };
    let settings = WorkerSettings {
        timeout: seconds(1),
        backoff: outbox_core::Backoff { base: seconds(1), cap: seconds(300) },
        max_attempts: 3,
        lease: seconds(10),
        ..WorkerSettings::default()
    };
    let running = Running::start(bench.worker().runtime_handler(handler).settings(settings));
    let id = bench.enqueue(NewEvent::raw("t", "{}")).await;
    for attempt in 1..=3 {
        runs.until(attempt).await;
        let lease_until = runs.all()[attempt - 1].at.after(seconds(10));
        bench.clock.advance(seconds(1));
        if attempt < 3 {
            let due = bench.until_released(id, "h", attempt as u32).await;
            assert!(
                due >= lease_until,
                "the retry at {due} waits for the lease, which ends at {lease_until}"
            );
            bench.clock.advance(seconds(9) - MILLISECOND);
            quiet().await;
            assert_eq!((runs.going(), runs.count()), (1, attempt), "the thread goes on, alone");
        } else {
            bench.until_state(id, EventState::DeadLettered).await;
        }
        open.send(()).unwrap();
        eventually("the thread has ended", async || runs.going() == 0).await;
        bench.clock.advance(MILLISECOND);
        let error = bench.progress(id, "h").await.last_error.unwrap_or_default();
        assert!(error.contains("timeout"), "{error}");
    }
    assert!(bench.dead_letters().await[0].reason.contains("timeout"));
    assert_eq!(runs.most_at_a_time(), 1);
    running.stop().await;
}

/// A handler that blocks its thread cannot be dropped. It is not renewed past its timeout, so another worker takes
/// over, and what the first one returns at last changes nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_hung_handler_loses_its_lease_after_its_timeout() {
    let bench = Bench::new();
    let started = Arc::new(AtomicUsize::new(0));
    let (open, wait) = std::sync::mpsc::channel::<()>();
    let wait = Arc::new(std::sync::Mutex::new(Some(wait)));
    let handler = {
        let started = Arc::clone(&started);
        RuntimeHandler::new("h", "t", move |_, _: Delivery| {
            let (started, wait) = (Arc::clone(&started), Arc::clone(&wait));
            async move {
                started.fetch_add(1, Ordering::SeqCst);
                // Only the first run hangs.
                let wait = wait.lock().unwrap().take();
                if let Some(wait) = wait {
                    let _ = wait.recv();
                    return Err("late".to_owned());
                }
                Ok(())
            }
        })
    };
    let handler = handler.timeout(seconds(45)).lease(seconds(60));
    let hung = bench.start(handler.clone());
    let id = bench.enqueue(NewEvent::raw("t", "{}")).await;
    eventually("the first run hangs", async || started.load(Ordering::SeqCst) == 1).await;
    let other = bench.start(handler);

    for (beat, renewed) in [(1, true), (2, true), (3, false), (4, false)] {
        let before = bench.progress(id, "h").await.lease_until.unwrap();
        bench.clock.advance(seconds(20));
        if renewed {
            let expected = bench.store.now().after(seconds(60));
            eventually(&format!("beat {beat} renews"), async || {
                bench.progress(id, "h").await.lease_until == Some(expected)
            })
            .await;
        } else {
            quiet().await;
            assert_eq!(bench.progress(id, "h").await.lease_until, Some(before), "beat {beat} does not renew");
        }
    }
    assert_eq!(started.load(Ordering::SeqCst), 1);
    eventually("it was taken over", async || {
        bench.clock.advance(seconds(1));
        bench.state(id).await == Some(EventState::Done)
    })
    .await;
    let done = bench.progress(id, "h").await;
    assert_eq!((done.state, done.attempts), (Some(ClaimState::Done), 2));

    open.send(()).unwrap();
    hung.stop().await;
    assert_eq!(bench.progress(id, "h").await, done, "the late failure is not written over the success");
    other.stop().await;
}
