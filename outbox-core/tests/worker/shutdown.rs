//! How a worker ends.

use outbox_core::{
    CancellationToken, ClaimState, EventState, Health, NewEvent, RuntimeHandler, WorkerError, WorkerSettings,
};

use crate::support::{Bench, MILLISECOND, Running, Runs, closed_gate, eventually, quiet, seconds};

/// Recipe "shutdown: SIGTERM: heartbeat stops before drain; claims stay stuck", within one process: lease 3 s, grace
/// 15 s, concurrency 1, ten events, a handler of 6 s, two workers.
#[tokio::test]
async fn what_runs_is_finished_and_what_has_not_started_goes_to_another_worker_at_once() {
    let bench = Bench::new();
    let (runs, gate) = (Runs::new(&bench), closed_gate());
    let settings =
        WorkerSettings { concurrency: 1, lease: seconds(3), grace: seconds(15), ..WorkerSettings::default() };
    let handler = runs.gated_handler(&gate);
    let builder = bench.worker().runtime_handler(handler).settings(settings);
    let stopping = Running::start(builder);
    let ids = bench.enqueue_numbers(0..10).await;
    runs.until(1).await;
    bench.clock.advance(seconds(1));
    stopping.shut_down();

    let others = Runs::new(&bench);
    let other = bench.start(others.handler());
    others.until(9).await;
    bench.until_all_done(&ids[1..]).await;
    // The event that still runs is renewed all the while.
    for _ in 0..5 {
        bench.clock.advance(seconds(1));
        let expected = bench.store.now().after(seconds(3));
        eventually("the lease is renewed", async || {
            bench.progress(ids[0], "h").await.lease_until == Some(expected)
        })
        .await;
    }
    assert!(!stopping.has_ended());
    gate.add_permits(1);
    stopping.ended().await.expect("it drains within its grace");
    bench.until_all_done(&ids).await;
    for id in &ids {
        assert_eq!(bench.progress(*id, "h").await.attempts, 1);
    }
    assert_eq!((runs.count(), others.count(), bench.dead_letters().await.len()), (1, 9, 0));
    other.stop().await;
}

#[tokio::test]
async fn handlers_that_outlast_the_grace_are_dropped_and_due_again_at_once_without_a_spent_attempt() {
    let bench = Bench::new();
    let runs = Runs::new(&bench);
    let settings = WorkerSettings { grace: seconds(10), ..WorkerSettings::default() };
    let handler = runs.gated_handler(&closed_gate());
    let running = Running::start(bench.worker().runtime_handler(handler).settings(settings));
    let ids = bench.enqueue_numbers(0..2).await;
    runs.until(2).await;
    running.shut_down();
    quiet().await;
    bench.clock.advance(seconds(10) - MILLISECOND);
    quiet().await;
    assert!(!running.has_ended());
    bench.clock.advance(MILLISECOND);
    let worker = running.worker.clone();
    let error = running.ended().await.unwrap_err();
    assert!(matches!(error, WorkerError::GraceExceeded { runs: 2, .. }), "{error}");
    assert_eq!((runs.going(), worker.health()), (0, Health::Stopped));
    for id in &ids {
        let progress = bench.progress(*id, "h").await;
        assert_eq!((progress.state, progress.attempts), (Some(ClaimState::Released), 0));
        assert_eq!(progress.lease_until, Some(bench.store.now()));
    }
    let others = Runs::new(&bench);
    let other = bench.start(others.handler());
    bench.until_all_done(&ids).await;
    assert!(others.all().iter().all(|run| run.attempt == 1));
    other.stop().await;
}

/// As when a caller selects between the worker and a signal: what runs is given back, instead of going on without a
/// heartbeat.
#[tokio::test]
async fn dropping_a_workers_future_gives_back_what_runs() {
    let bench = Bench::new();
    let runs = Runs::new(&bench);
    let worker = bench.worker().runtime_handler(runs.gated_handler(&closed_gate())).build().unwrap();
    let id = bench.enqueue(NewEvent::raw("t", "{}")).await;
    tokio::select! {
        _ = worker.run(CancellationToken::new()) => panic!("nobody shut it down"),
        () = runs.until(1) => {}
    }
    eventually("the run is given back", async || {
        bench.progress(id, "h").await.state == Some(ClaimState::Released)
    })
    .await;
    assert_eq!((runs.going(), worker.health()), (0, Health::Stopped));
}

#[tokio::test]
async fn a_worker_can_be_run_again() {
    let bench = Bench::new();
    let runs = Runs::new(&bench);
    let gate = closed_gate();
    let settings = WorkerSettings { grace: MILLISECOND, ..WorkerSettings::default() };
    let worker =
        bench.worker().runtime_handler(runs.gated_handler(&gate)).settings(settings).build().unwrap();
    let id = bench.enqueue(NewEvent::raw("t", "{}")).await;
    let first = Running::start_worker(worker.clone());
    runs.until(1).await;
    first.shut_down();
    quiet().await;
    bench.clock.advance(MILLISECOND);
    assert!(first.ended().await.is_err());

    let second = Running::start_worker(worker);
    runs.until(2).await;
    gate.add_permits(1);
    bench.until_state(id, EventState::Done).await;
    second.stop().await;
}

#[tokio::test]
async fn a_worker_with_nothing_to_do_ends_at_once() {
    let bench = Bench::new();
    let running = bench.start(RuntimeHandler::new("h", "t", |_, _| async { Ok::<(), String>(()) }));
    eventually("it is ready", async || running.worker.health().is_ready()).await;
    running.stop().await;

    let cancelled = CancellationToken::new();
    cancelled.cancel();
    bench.worker().build().unwrap().run(cancelled).await.unwrap();
}

/// What is received at the very moment of the shutdown is not left claimed.
#[tokio::test]
async fn no_claim_is_left_behind_whenever_the_shutdown_comes() {
    for round in 0..50 {
        let bench = Bench::new();
        let runs = Runs::new(&bench);
        let running = bench.start(runs.handler());
        let ids = bench.enqueue_numbers(0..40).await;
        for _ in 0..round {
            tokio::task::yield_now().await;
        }
        running.stop().await;
        for id in ids {
            let state = bench.state(id).await;
            assert!(
                matches!(state, Some(EventState::Done | EventState::Pending)),
                "round {round}: {state:?}"
            );
        }
    }
}
