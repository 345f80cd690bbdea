//! Events that this worker cannot handle.

use outbox_core::{EventState, NewEvent, Unhandled, WorkerSettings};

use crate::support::logs::Logs;
use crate::support::{Bench, Running, Runs, eventually, quiet, seconds};

/// As when the linker has left out the crate of its handlers, which nothing in the binary names.
#[tokio::test]
async fn a_worker_without_any_handler_says_so_and_what_to_do() {
    let logs = Logs::collect();
    let bench = Bench::new();
    let running = Running::start(bench.worker());
    eventually("it is warned of", async || logs.count("outbox.worker.no_handlers") == 1).await;
    assert!(logs.text().contains("use its_name as _;"), "{logs:?}");
    running.stop().await;

    let running = bench.start(Runs::new(&bench).handler());
    eventually("it is ready", async || running.worker.health().is_ready()).await;
    assert_eq!(logs.count("outbox.worker.no_handlers"), 1, "with a handler there is nothing to say");
    running.stop().await;
}

#[tokio::test]
async fn a_type_that_nobody_handles_waits_and_is_warned_of_once() {
    let logs = Logs::collect();
    let bench = Bench::new();
    let runs = Runs::new(&bench);
    let unhandled = bench.enqueue(NewEvent::raw("unknown", "{}")).await;
    let running = bench.start(runs.handler());
    eventually("it is warned of", async || logs.count("outbox.unhandled") == 1).await;
    for _ in 0..5 {
        bench.enqueue(NewEvent::raw("unknown", "{}")).await;
        bench.clock.advance(seconds(60));
        quiet().await;
    }
    assert_eq!(logs.count("outbox.unhandled"), 1);
    assert!(logs.text().contains("unknown"), "{logs:?}");
    assert_eq!(bench.state(unhandled).await, Some(EventState::Pending));

    bench.enqueue(NewEvent::raw("another", "{}")).await;
    bench.clock.advance(seconds(60));
    eventually("each type is warned of", async || logs.count("outbox.unhandled") == 2).await;
    running.stop().await;
}

#[tokio::test]
async fn a_worker_may_discard_what_nobody_handles() {
    let bench = Bench::new();
    let settings = WorkerSettings { unhandled: Unhandled::Discard, ..WorkerSettings::default() };
    let id = bench.enqueue(NewEvent::raw("unknown", "{}")).await;
    let running =
        Running::start(bench.worker().runtime_handler(Runs::new(&bench).handler()).settings(settings));
    bench.until_state(id, EventState::Done).await;
    running.stop().await;
}

#[tokio::test]
async fn events_that_wait_for_a_handler_of_another_binary_are_warned_of_once() {
    let logs = Logs::collect();
    let bench = Bench::new();
    let gone =
        bench.start(outbox_core::RuntimeHandler::new("gone", "t", |_, _| async { Ok::<(), String>(()) }));
    eventually("it has listed its handler", async || gone.worker.health().is_ready()).await;
    gone.stop().await;

    let runs = Runs::new(&bench);
    let running = bench.start(runs.handler());
    let id = bench.enqueue(NewEvent::raw("t", "{}")).await;
    runs.until(1).await;
    for _ in 0..4 {
        quiet().await;
        bench.clock.advance(seconds(60));
    }
    eventually("it is warned of", async || logs.count("outbox.waiting") == 1).await;
    assert!(logs.text().contains("gone"), "{logs:?}");
    assert_eq!((bench.state(id).await, runs.count()), (Some(EventState::Pending), 1));
    running.stop().await;
}
