//! Failed handlers: when they run again, and when they give up.

use outbox_core::{Clock, EventState, HandlerError, NewEvent, RuntimeHandler, WorkerSettings};

use crate::support::{Bench, MILLISECOND, Running, Runs, quiet, seconds};

/// Recipe "retry: backoff overflow and off-by-one".
#[tokio::test]
async fn a_failing_handler_is_retried_after_5_10_20_seconds_and_so_on_up_to_300() {
    let bench = Bench::new();
    let runs = Runs::new(&bench);
    let running = bench.start(runs.failing_handler());
    let id = bench.enqueue(NewEvent::raw("t", "{}")).await;
    for (attempt, gap) in (1..).zip([5, 10, 20, 40, 80, 160, 300, 300, 300]) {
        let due = bench.until_released(id, "h", attempt).await;
        let begun = runs.all();
        assert_eq!(begun.len(), attempt as usize);
        assert_eq!(due.since(begun.last().unwrap().at), seconds(gap), "after failure {attempt}");
        bench.clock.advance(seconds(gap) - MILLISECOND);
        if attempt < 4 {
            quiet().await;
            assert_eq!(runs.count(), attempt as usize, "not before its time");
        }
        bench.clock.advance(MILLISECOND);
        runs.until(attempt as usize + 1).await;
    }
    assert_eq!(runs.all().iter().map(|run| run.attempt).collect::<Vec<_>>(), (1..=10).collect::<Vec<_>>());
    running.stop().await;
}

#[tokio::test]
async fn a_schedule_of_milliseconds_never_falls_below_its_base_or_above_its_cap() {
    let bench = Bench::new();
    let runs = Runs::new(&bench);
    let backoff = outbox_core::Backoff { base: MILLISECOND, cap: 60 * MILLISECOND };
    let settings = WorkerSettings { backoff, max_attempts: 40, ..WorkerSettings::default() };
    let running = Running::start(bench.worker().runtime_handler(runs.failing_handler()).settings(settings));
    let id = bench.enqueue(NewEvent::raw("t", "{}")).await;
    for attempt in 1..40 {
        let due = bench.until_released(id, "h", attempt).await;
        let gap = due.since(runs.all().last().unwrap().at);
        assert!(gap >= MILLISECOND && gap <= 60 * MILLISECOND, "after failure {attempt}: {gap:?}");
        bench.clock.advance(gap);
    }
    bench.until_state(id, EventState::DeadLettered).await;
    assert_eq!(runs.count(), 40);
    running.stop().await;
}

#[tokio::test]
async fn a_handler_whose_attempts_are_used_up_leaves_a_dead_letter_with_the_reason() {
    let bench = Bench::new();
    let runs = Runs::new(&bench);
    let running = bench.start(runs.failing_handler().max_attempts(3));
    let id = bench.enqueue(NewEvent::raw("t", "{}")).await;
    for attempt in 1..3 {
        bench.until_released(id, "h", attempt).await;
        bench.clock.advance(seconds(300));
    }
    bench.until_state(id, EventState::DeadLettered).await;
    let dead = bench.dead_letters().await;
    assert_eq!((dead.len(), &*dead[0].reason, dead[0].attempts), (1, "no network", 3));
    bench.clock.advance(seconds(3_600));
    quiet().await;
    assert_eq!(runs.count(), 3);
    running.stop().await;
}

/// As it is, and hidden in an `anyhow` error under two layers of context.
#[tokio::test]
async fn a_permanent_failure_is_a_dead_letter_at_once() {
    let bench = Bench::new();
    let running = bench.start(RuntimeHandler::new("h", "t", |payload, _| async move {
        let error = HandlerError::permanent(format!("no poster {payload}"));
        if payload == "0" {
            return Err(anyhow::Error::new(error));
        }
        Err(anyhow::Error::new(error).context("fetching").context("syncing"))
    }));
    let ids = bench.enqueue_numbers(0..2).await;
    for id in ids {
        bench.until_state(id, EventState::DeadLettered).await;
        assert_eq!(bench.progress(id, "h").await.attempts, 1);
    }
    let reasons: Vec<_> = bench.dead_letters().await.into_iter().map(|letter| letter.reason).collect();
    assert!(reasons.contains(&"no poster 0".to_owned()), "{reasons:?}");
    assert!(reasons.contains(&"syncing: fetching: no poster 1".to_owned()), "{reasons:?}");
    running.stop().await;
}

/// As it is, and hidden in an `anyhow` error.
#[tokio::test]
async fn a_handler_can_ask_to_be_retried_after_a_time_of_its_own() {
    let bench = Bench::new();
    let running = bench.start(RuntimeHandler::new("h", "t", |payload, _| async move {
        let error = HandlerError::retry_after(seconds(42), "asked to slow down");
        if payload == "0" {
            Err(anyhow::Error::new(error))
        } else {
            Err(anyhow::Error::new(error).context("api"))
        }
    }));
    for id in bench.enqueue_numbers(0..2).await {
        let due = bench.until_released(id, "h", 1).await;
        assert_eq!(due.since(bench.clock.now()), seconds(42));
    }
    running.stop().await;
}

/// An event's other handlers neither wait for the one that fails nor run again with it.
#[tokio::test]
async fn only_the_handler_that_failed_runs_again() {
    let bench = Bench::new();
    let (good, bad) = (Runs::new(&bench), Runs::new(&bench));
    let fails_once = {
        let bad = bad.clone();
        RuntimeHandler::new("bad", "t", move |_, delivery| {
            drop(bad.begin(&delivery));
            async move { if delivery.attempt == 1 { Err("once") } else { Ok(()) } }
        })
    };
    let running = Running::start(bench.worker().runtime_handler(good.handler()).runtime_handler(fails_once));
    let id = bench.enqueue(NewEvent::raw("t", "{}")).await;
    bench.until_released(id, "bad", 1).await;
    bench.clock.advance(seconds(5));
    bench.until_state(id, EventState::Done).await;
    assert_eq!((good.count(), bad.count()), (1, 2));
    running.stop().await;
}
