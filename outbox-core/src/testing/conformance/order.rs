//! Events of one key reach a handler one after the other, in the order in which they were written.

use super::ROW_LEASE;
use super::hand_worker::HandWorker;
use super::world::{SECOND, World, all, event, failed, handler};
use crate::{DeadLetterFilter, EventId, NewEvent, OnDead, Settlement, SubscribedHandler, WaitReason};

fn keyed(key: &str) -> NewEvent {
    event("t").key(key)
}

fn blocking(name: &str) -> SubscribedHandler {
    SubscribedHandler { on_dead: OnDead::Block, ..handler(name, "t") }
}

/// Takes one event per key at a time, and the next one when it is done; events without a key, and other keys, go on.
pub async fn events_of_a_key_come_one_after_the_other(world: World) {
    let worker = world.worker_for("t").await;
    let ids = world.enqueue_all([keyed("k"), keyed("k"), keyed("l"), event("t"), keyed("k")]).await;
    let mut taken = worker.take().await;
    assert_eq!(ids_of(&taken), [ids[0], ids[2], ids[3]]);
    worker.finds_nothing().await;
    taken.remove(0).done().await;
    let taken = worker.take_one().await;
    assert_eq!(taken.event.id, ids[1]);
    taken.done().await;
    assert_eq!(worker.take_ids().await, [ids[4]]);
}

/// The order holds across workers.
pub async fn the_order_of_a_key_holds_across_workers(world: World) {
    let (one, other) = (world.worker_for("t").await, world.worker_for("t").await);
    let ids = world.enqueue_all([keyed("k"), keyed("k")]).await;
    let first = one.take_one().await;
    other.finds_nothing().await;
    first.done().await;
    assert_eq!(other.take_ids().await, [ids[1]]);
}

/// A worker that dies with an event of a key does not let the next one pass: the first is taken over before.
pub async fn a_dead_worker_does_not_break_the_order(world: World) {
    let (dying, other) = (world.worker_for("t").await, world.worker_for("t").await);
    let ids = world.enqueue_all([keyed("k"), keyed("k")]).await;
    dying.take_one().await;
    world.pass(ROW_LEASE);
    let first = other.take_one().await;
    assert_eq!(first.event.id, ids[0]);
    first.done().await;
    assert_eq!(other.take_ids().await, [ids[1]]);
}

/// A handler that failed holds back only its own later events of that key: another handler goes on, and so do other keys.
pub async fn a_failed_handler_holds_back_only_itself(world: World) {
    let worker = world.worker([handler("a", "t"), handler("b", "t")]).await;
    let ids = world.enqueue_all([keyed("k"), keyed("k"), keyed("l")]).await;
    let due = world.now().after(5 * SECOND);
    for taken in worker.take().await {
        if taken.event.id == ids[0] {
            world.ledger.release(taken.claim("a"), &failed(due, "not yet")).await.unwrap();
            world.ledger.done(taken.claim("b")).await.unwrap();
            taken.settle(Settlement::Retry { at: due, error: "not yet".to_owned() }).await;
        } else {
            assert_eq!((taken.event.id, taken.handlers().len()), (ids[2], 2), "the other key goes on");
        }
    }
    let second = worker.take_one().await;
    assert_eq!((second.event.id, second.handlers()), (ids[1], vec!["b".to_owned()]));
    second.done().await;
    worker.finds_nothing().await;

    world.pass(5 * SECOND);
    let first = worker.take_one().await;
    assert_eq!((first.event.id, first.handlers()), (ids[0], vec!["a".to_owned()]));
    first.done().await;
    let second = worker.take_one().await;
    assert_eq!((second.event.id, second.handlers()), (ids[1], vec!["a".to_owned()]));
}

/// Nor does one that still runs: a handler that has finished goes on with the key.
pub async fn a_slow_handler_holds_back_only_itself(world: World) {
    let worker = world.worker([handler("quick", "t"), handler("slow", "t")]).await;
    let ids = world.enqueue_all([keyed("k"), keyed("k")]).await;
    let first = worker.take_one().await;
    worker.finds_nothing().await;
    world.ledger.done(first.claim("quick")).await.unwrap();
    first.progressed().await;
    let second = worker.take_one().await;
    assert_eq!((second.event.id, second.handlers()), (ids[1], vec!["quick".to_owned()]));
}

/// A handler of several types gets the events of a key in order across them; one of a single type does not wait for
/// types that it does not handle.
pub async fn the_order_spans_the_types_of_a_handler(world: World) {
    let worker = world.worker([handler("all", "m.*"), handler("last", "m.removed")]).await;
    let ids = world.enqueue_all([event("m.added").key("k"), event("m.removed").key("k")]).await;
    let mut taken = worker.take().await;
    taken.sort_by_key(|taken| ids.iter().position(|id| *id == taken.event.id));
    assert_eq!(ids_of(&taken), ids);
    assert_eq!((taken[0].handlers(), taken[1].handlers()), (vec!["all".to_owned()], vec!["last".to_owned()]));
    for taken in taken {
        taken.done().await;
    }
    let removed = worker.take_one().await;
    assert_eq!((removed.event.id, removed.handlers()), (ids[1], vec!["all".to_owned()]));
}

/// The order is that of writing: an event that is due later than its successor still comes first.
pub async fn a_delayed_event_holds_back_later_ones_of_its_key(world: World) {
    let worker = world.worker_for("t").await;
    let ids = world.enqueue_all([keyed("k").after(10 * SECOND), keyed("k")]).await;
    worker.finds_nothing().await;
    let explanation = world.explain(ids[1]).await;
    assert_eq!((&explanation.waits_for, explanation.behind), (&Some(WaitReason::Key), Some(ids[0])));
    let named = format!("waits for an earlier event of its key, {}", ids[0]);
    assert!(explanation.to_string().contains(&named), "{explanation}");
    world.pass(10 * SECOND);
    assert_eq!(worker.work_off().await.into_iter().map(|(id, _)| id).collect::<Vec<_>>(), ids);
}

/// After a dead letter the key goes on, unless the handler says otherwise.
pub async fn after_a_dead_letter_the_key_goes_on(world: World) {
    let worker = world.worker_for("t").await;
    let ids = world.enqueue_all([keyed("k"), keyed("k")]).await;
    worker.bury_all("hopeless").await;
    assert_eq!(worker.take_ids().await, [ids[1]]);
}

/// A handler that blocks on its dead letters keeps the rest of that key waiting, visibly; other keys and other handlers
/// go on.
pub async fn a_blocked_key_waits_and_nothing_else_does(world: World) {
    let worker = world.worker([blocking("a"), handler("b", "t")]).await;
    let ids = world.enqueue_all([keyed("k"), keyed("k"), keyed("l")]).await;
    for taken in worker.take().await {
        if taken.event.id == ids[0] {
            taken.bury("hopeless").await;
        } else {
            taken.done().await;
        }
    }
    let second = worker.take_one().await;
    assert_eq!((second.event.id, second.handlers()), (ids[1], vec!["b".to_owned()]));
    second.done().await;
    world.pass(3_600 * SECOND);
    worker.finds_nothing().await;
    let explanation = world.explain(ids[1]).await;
    assert_eq!((explanation.waits_for, explanation.behind), (Some(WaitReason::Key), Some(ids[0])));
    let waiting = world.admin.status().await.unwrap().waiting;
    assert!(
        waiting.iter().any(|waiting| waiting.reason == WaitReason::Key && waiting.events == 1),
        "{waiting:?}"
    );
}

/// An event that was given up as a whole is a dead letter of its handlers: it blocks its key for those that block, and for
/// no other, though none of them had finished.
pub async fn an_event_given_up_as_a_whole_blocks_for_those_that_block(world: World) {
    let worker = world.worker([blocking("a"), handler("b", "t")]).await;
    let ids = world.enqueue_all([keyed("k"), keyed("k")]).await;
    let first = worker.take_one().await;
    world.ledger.release(first.claim("a"), &failed(world.now(), "refused")).await.unwrap();
    first.settle(Settlement::Dead { reason: "refused".to_owned() }).await;
    let second = worker.take_one().await;
    assert_eq!((second.event.id, second.handlers()), (ids[1], vec!["b".to_owned()]));
}

/// Events that other handlers gave up say nothing of a handler that was listed later: the order that it keeps is that of
/// the events it still has to run.
pub async fn an_event_that_others_gave_up_does_not_hide_those_before_it(world: World) {
    let worker = world.worker([handler("adds", "m.added"), handler("cuts", "m.cut")]).await;
    let types = ["m.added", "m.cut", "m.other"];
    let ids = world.enqueue_all(types.map(|event_type| event(event_type).key("k"))).await;
    let [first, second] = <[_; 2]>::try_from(worker.take().await).ok().expect("one for each handler");
    first.fail(world.now().after(300 * SECOND)).await;
    second.bury("hopeless").await;

    let late = world.worker([handler("all", "m.*")]).await;
    assert_eq!(late.take_ids().await, [ids[0]]);
}

/// A handler in one binary goes on with a key while another binary has not got that far.
pub async fn a_binary_that_lags_holds_back_no_other(world: World) {
    let (one, other) = (world.worker([handler("a", "t")]).await, world.worker([handler("b", "t")]).await);
    let ids = world.enqueue_all([keyed("k"), keyed("k"), keyed("k")]).await;
    let order: Vec<_> = one.work_off().await.into_iter().map(|(id, _)| id).collect();
    assert_eq!(order, ids);
    let order: Vec<_> = other.work_off().await.into_iter().map(|(id, _)| id).collect();
    assert_eq!(order, ids);
}

/// Nor does an event that is enqueued while the one before it waits for the other binary alone.
pub async fn an_event_does_not_wait_for_one_that_waits_for_another_binary(world: World) {
    let one = world.worker([handler("a", "t")]).await;
    let _absent = world.worker([handler("b", "t")]).await;
    world.enqueue(keyed("k")).await;
    one.take_one().await.done().await;
    let second = world.enqueue(keyed("k")).await;
    assert_eq!(one.work_off().await, [(second, "a".to_owned())]);
}

/// A handler that gave up as its worker was lost lets the key go on, also while its event waits for another binary.
pub async fn a_handler_that_was_lost_with_its_worker_lets_the_key_go_on(world: World) {
    let fragile = || SubscribedHandler { max_attempts: 1, ..handler("a", "t") };
    let (dying, other) = (world.worker([fragile()]).await, world.worker([fragile()]).await);
    let _absent = world.worker([handler("b", "t")]).await;
    let ids = world.enqueue_all([keyed("k"), keyed("k")]).await;
    assert_eq!(dying.take_ids().await, [ids[0]]);
    world.pass(ROW_LEASE);
    assert_eq!(other.work_off().await, [(ids[1], "a".to_owned())]);
}

/// Redriving the dead letter unblocks its key: first the redriven event, then the ones behind it.
pub async fn redriving_unblocks_a_key_in_order(world: World) {
    let (worker, ids) = blocked(&world).await;
    world.admin.retry(&of(ids[0])).await.unwrap();
    assert_eq!(worker.work_off().await.into_iter().map(|(id, _)| id).collect::<Vec<_>>(), ids);
}

/// Discarding the dead letter unblocks its key: the ones behind it go on.
pub async fn discarding_unblocks_a_key(world: World) {
    let (worker, ids) = blocked(&world).await;
    assert_eq!(world.admin.discard(&of(ids[0])).await.unwrap(), 1);
    assert_eq!(worker.work_off().await.into_iter().map(|(id, _)| id).collect::<Vec<_>>(), ids[1..]);
    assert_eq!(world.admin.discard(&all()).await.unwrap(), 0, "nothing is left to discard");
}

/// Three events of a key whose first is a dead letter that blocks.
async fn blocked(world: &World) -> (HandWorker, Vec<EventId>) {
    let worker = world.worker([blocking("a")]).await;
    let ids = world.enqueue_all([keyed("k"), keyed("k"), keyed("k")]).await;
    worker.bury_all("hopeless").await;
    worker.finds_nothing().await;
    (worker, ids)
}

fn of(event_id: EventId) -> DeadLetterFilter {
    DeadLetterFilter { event_id: Some(event_id), ..all() }
}

fn ids_of(taken: &[super::hand_worker::Taken]) -> Vec<EventId> {
    taken.iter().map(|taken| taken.event.id).collect()
}
