//! Recipe "time: clock steps and skew between workers", on one machine.

use outbox_core::{Clock, EventState, NewEvent};

use crate::support::{Bench, Runs, closed_gate, seconds};

#[tokio::test]
async fn after_the_clock_was_set_back_an_hour_the_next_event_is_handled_at_once() {
    let bench = Bench::new();
    let runs = Runs::new(&bench);
    let running = bench.start(runs.handler());
    let before = bench.enqueue(NewEvent::raw("t", "{}")).await;
    bench.until_state(before, EventState::Done).await;
    bench.clock.set(bench.clock.now().before(seconds(3_600)));
    let after = bench.enqueue(NewEvent::raw("t", "{}")).await;
    bench.until_state(after, EventState::Done).await;
    running.stop().await;
}

/// The worker waits by the time that passes, so a delay is neither cut short nor stretched by what happens to the wall
/// clock, beyond one look at the queue.
#[tokio::test]
async fn a_worker_that_waits_looks_again_within_its_poll_interval_whatever_the_wall_clock_does() {
    let bench = Bench::new();
    let runs = Runs::new(&bench);
    let running = bench.start(runs.handler());
    let id = bench.enqueue(NewEvent::raw("t", "{}").after(seconds(600))).await;
    crate::support::quiet().await;
    bench.clock.set(bench.clock.now().after(seconds(600)));
    bench.clock.advance(seconds(1));
    bench.until_state(id, EventState::Done).await;
    running.stop().await;
}

/// A handler that runs while the clock is set back keeps its claim and finishes once.
#[tokio::test]
async fn a_running_handler_survives_a_clock_that_is_set_back() {
    let bench = Bench::new();
    let (runs, gate) = (Runs::new(&bench), closed_gate());
    let handler = runs.gated_handler(&gate).timeout(seconds(1_000));
    let (one, other) = (bench.start(handler.clone()), bench.start(handler));
    let id = bench.enqueue(NewEvent::raw("t", "{}")).await;
    runs.until(1).await;
    bench.clock.set(bench.clock.now().before(seconds(3_600)));
    for _ in 0..5 {
        bench.until_renewed(id).await;
    }
    gate.add_permits(1);
    bench.until_state(id, EventState::Done).await;
    assert_eq!(runs.count(), 1);
    one.stop().await;
    other.stop().await;
}
