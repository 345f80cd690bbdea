//! What comes again after a failure, when, and for whom.

use super::ROW_LEASE;
use super::world::{LEASE, MAX_ATTEMPTS, MILLISECOND, SECOND, World, event, failed, handler};
use crate::{Backoff, ClaimState, EventState, Release, Settlement};

/// A failed event comes again at its due time, to the millisecond, however often it fails.
pub async fn a_failed_event_comes_again_on_schedule(world: World) {
    let worker = world.worker([crate::SubscribedHandler { max_attempts: 9, ..handler("h", "t") }]).await;
    let id = world.enqueue(event("t")).await;
    for attempt in 1..=8 {
        let taken = worker.take_one().await;
        assert_eq!((taken.event.id, taken.claims[0].attempt), (id, attempt));
        let due = world.now().after(Backoff::default().delay(attempt));
        taken.fail(due).await;
        assert_eq!(worker.next_due().await, Some(due));
        world.pass(Backoff::default().delay(attempt) - MILLISECOND);
        worker.finds_nothing().await;
        world.pass(MILLISECOND);
    }
    assert_eq!(worker.take_one().await.claims[0].attempt, 9);
}

/// Each handler of an event has a due time of its own.
pub async fn each_handler_is_due_at_its_own_time(world: World) {
    let worker = world.worker([handler("a", "t"), handler("b", "t")]).await;
    world.enqueue(event("t")).await;
    let taken = worker.take_one().await;
    let (sooner, later) = (world.now().after(5 * SECOND), world.now().after(20 * SECOND));
    world.ledger.release(taken.claim("a"), &failed(later, "later")).await.unwrap();
    world.ledger.release(taken.claim("b"), &failed(sooner, "sooner")).await.unwrap();
    taken.settle(Settlement::Retry { at: sooner, error: "sooner".to_owned() }).await;

    world.pass(5 * SECOND);
    let taken = worker.take_one().await;
    assert_eq!(taken.handlers(), ["b"]);
    taken.done().await;
    worker.finds_nothing().await;
    world.pass(15 * SECOND - MILLISECOND);
    worker.finds_nothing().await;
    world.pass(MILLISECOND);
    assert_eq!(worker.take_one().await.handlers(), ["a"]);
}

/// A retry runs only the handlers that have not finished, also when one of them gave up.
pub async fn a_retry_runs_only_what_has_not_finished(world: World) {
    let worker = world.worker([handler("a", "t"), handler("b", "t"), handler("c", "t")]).await;
    let id = world.enqueue(event("t")).await;
    let taken = worker.take_one().await;
    let due = world.now().after(SECOND);
    world.ledger.done(taken.claim("a")).await.unwrap();
    world.ledger.bury(taken.claim("b"), "hopeless").await.unwrap();
    world.ledger.release(taken.claim("c"), &failed(due, "not yet")).await.unwrap();
    taken.settle(Settlement::Retry { at: due, error: "not yet".to_owned() }).await;
    assert_eq!(world.state(id).await, EventState::Pending);

    world.pass(SECOND);
    let taken = worker.take_one().await;
    assert_eq!((taken.handlers(), taken.claims[0].attempt), (vec!["c".to_owned()], 2));
    taken.done().await;
    assert_eq!(world.state(id).await, EventState::DeadLettered, "one of its handlers gave up");
}

/// Where bus and ledger share a store, an event ends up right whether its settlement or its last ledger mark comes
/// first.
pub async fn settlement_and_ledger_mark_may_come_in_any_order(world: World) {
    let worker = world.worker_for("t").await;
    let ids = world.enqueue_all([event("t"), event("t")]).await;
    let due = world.now().after(5 * SECOND);
    let [finishing, failing] = <[_; 2]>::try_from(worker.take().await).ok().expect("two events are due");

    finishing.settle(Settlement::Done).await;
    failing.settle(Settlement::Retry { at: due, error: "failed".to_owned() }).await;
    worker.finds_nothing().await;
    world.ledger.done(&finishing.claims[0]).await.unwrap();
    world.ledger.release(&failing.claims[0], &failed(due, "failed")).await.unwrap();

    assert_eq!(world.state(ids[0]).await, EventState::Done);
    worker.finds_nothing().await;
    world.pass(5 * SECOND);
    assert_eq!(worker.take_ids().await, [ids[1]]);
}

/// A worker that dies between its ledger mark and its settlement leaves nothing to run: the event comes to its end by
/// itself when the lease is over.
pub async fn an_event_whose_settlement_was_lost_ends_without_a_run(world: World) {
    let (dying, other) = (world.worker_for("t").await, world.worker_for("t").await);
    let id = world.enqueue(event("t")).await;
    world.ledger.done(&dying.take_one().await.claims[0]).await.unwrap();
    world.pass(ROW_LEASE);
    other.finds_nothing().await;
    assert_eq!(world.state(id).await, EventState::Done);
}

/// One that dies before its mark leaves its handler to be run again, and only that one.
pub async fn an_event_whose_worker_died_half_way_runs_the_rest(world: World) {
    let handlers = || [handler("a", "t"), handler("b", "t")];
    let (dying, other) = (world.worker(handlers()).await, world.worker(handlers()).await);
    world.enqueue(event("t")).await;
    let lost = dying.take_one().await;
    world.ledger.done(lost.claim("a")).await.unwrap();
    world.pass(ROW_LEASE);
    let taken = other.take_one().await;
    assert_eq!((taken.handlers(), taken.claims[0].attempt), (vec!["b".to_owned()], 2));
}

/// An event that kills every worker is dead-lettered when its attempts are used up, without a run of its own for that.
pub async fn an_event_that_kills_its_workers_is_dead_lettered(world: World) {
    let worker = world.worker_for("t").await;
    let id = world.enqueue(event("t")).await;
    for attempt in 1..=MAX_ATTEMPTS {
        assert_eq!(worker.take_one().await.claims[0].attempt, attempt);
        world.pass(ROW_LEASE.max(LEASE));
    }
    worker.finds_nothing().await;
    assert_eq!(world.state(id).await, EventState::DeadLettered);
    let dead = world.dead_letters().await;
    assert_eq!((dead.len(), dead[0].attempts), (1, MAX_ATTEMPTS));
    assert!(dead[0].reason.contains("worker lost"), "{}", dead[0].reason);
}

/// What a worker gives back unstarted, as at its shutdown, another gets at once, as the same attempt.
pub async fn what_is_given_back_unstarted_spends_no_attempt(world: World) {
    let (stopping, other) = (world.worker_for("t").await, world.worker_for("t").await);
    let id = world.enqueue(event("t")).await;
    let taken = stopping.take_one().await;
    let release =
        Release { due: world.now(), error: Some("the worker was shut down".to_owned()), refund: true };
    world.ledger.release(&taken.claims[0], &release).await.unwrap();
    taken.settle(Settlement::Defer { until: world.now() }).await;
    let taken = other.take_one().await;
    assert_eq!((taken.event.id, taken.claims[0].attempt), (id, 1));
}

/// One event's failures keep no other waiting, however many fail.
pub async fn failing_events_keep_no_others_waiting(world: World) {
    let worker = world.worker_for("t").await;
    world.enqueue_all((0..200).map(|_| event("t"))).await;
    world.enqueue_all((0..200).map(|_| event("t").after(3_600 * SECOND))).await;
    let due = world.now().after(5 * SECOND);
    for _ in 0..10 {
        for taken in worker.take_at_most(20).await {
            taken.fail(due).await;
        }
    }
    let good = world.enqueue(event("t")).await;
    let taken = worker.take_at_most(20).await;
    assert_eq!(taken.iter().map(|taken| taken.event.id).collect::<Vec<_>>(), [good]);
}

/// A claim that is already done when its event is delivered again counts as success.
pub async fn an_event_that_was_handled_elsewhere_is_done_without_a_run(world: World) {
    let id = world.enqueue(event("t")).await;
    let token = world.granted(id, "t").await;
    world.ledger.done(&token).await.unwrap();
    let worker = world.worker_for("t").await;
    worker.finds_nothing().await;
    assert_eq!(world.state(id).await, EventState::Done);
    assert_eq!(world.claim_state(id, "t").await, Some(ClaimState::Done));
}

/// A handler that still runs when its event was given back keeps no other handler from being retried.
pub async fn a_handler_that_still_runs_hides_no_other(world: World) {
    let worker = world.worker([handler("slow", "t"), handler("b", "t")]).await;
    world.enqueue(event("t")).await;
    let taken = worker.take_one().await;
    let due = world.now().after(5 * SECOND);
    world.ledger.release(taken.claim("b"), &failed(due, "again")).await.unwrap();
    taken.settle(Settlement::Retry { at: due, error: "again".to_owned() }).await;
    worker.finds_nothing().await;
    world.pass(5 * SECOND);
    assert_eq!(worker.take_one().await.handlers(), ["b"]);
}

/// An attempt whose lease ran out was lost with its worker, and the one after it says so.
pub async fn an_attempt_that_was_lost_with_its_worker_is_told(world: World) {
    let worker = world.worker_for("t").await;
    let id = world.enqueue(event("t")).await;
    worker.take_one().await;
    world.pass(ROW_LEASE.max(LEASE));
    worker.take_one().await;
    assert_eq!(world.progress(id, "t").await.last_error.as_deref(), Some("worker lost"));
}
