//! Whom an event waits for: handlers of other binaries, new and forgotten ones, and those of newer versions.

use super::world::{SECOND, World, event, handler};
use crate::{EventState, OVERDUE, OnDead, Settlement, SubscribedHandler, Unhandled, WaitReason, Waiting};

fn up_to(version: u32) -> SubscribedHandler {
    SubscribedHandler { max_version: version, ..handler("h", "t") }
}

/// An event is done when every listed handler of its type is, whichever binaries they are in. The binary that is
/// through with it does not see it again.
pub async fn an_event_waits_for_the_handlers_of_other_binaries(world: World) {
    let one = world.worker([handler("a", "t")]).await;
    let other = world.worker([handler("b", "t")]).await;
    let id = world.enqueue(event("t")).await;
    one.take_one().await.done().await;
    assert_eq!(world.state(id).await, EventState::Pending);
    for _ in 0..3 {
        one.finds_nothing().await;
        assert_eq!(one.next_due().await, None, "a worker does not wait for what others have to do");
        world.pass(3_600 * SECOND);
    }
    let taken = other.take_one().await;
    assert_eq!(taken.handlers(), ["b"]);
    taken.done().await;
    assert_eq!(world.state(id).await, EventState::Done);
}

/// What an event waits for is visible: to the operator, and to the worker that did its part.
pub async fn waiting_for_another_binary_is_visible(world: World) {
    let one = world.worker([handler("a", "t")]).await;
    let other = world.worker([handler("b", "t")]).await;
    let id = world.enqueue(event("t")).await;
    one.take_one().await.done().await;
    one.finds_nothing().await;
    assert_eq!(world.explain(id).await.waits_for, Some(WaitReason::Handler("b".to_owned())));
    let waiting = world.admin.status().await.unwrap().waiting;
    let wanted = WaitReason::Handler("b".to_owned());
    assert!(waiting.iter().any(|waiting| waiting.reason == wanted && waiting.events == 1), "{waiting:?}");
    assert_eq!(one.maintain(Unhandled::Wait).await.waiting_for, [("b".to_owned(), 1)]);
    assert_eq!(other.maintain(Unhandled::Wait).await.waiting_for, [], "it is its own");
}

/// So is an event that nobody has begun with for long, since no binary has its handler any more.
pub async fn an_event_whose_handler_is_gone_is_visible(world: World) {
    let _gone = world.worker([handler("gone", "t")]).await;
    let one = world.worker([handler("a", "u")]).await;
    let id = world.enqueue_all([event("t"), event("t")]).await[0];
    let waiting = async || world.admin.status().await.unwrap().waiting;
    assert_eq!(waiting().await, [], "a worker may be about to take them");
    assert_eq!(one.maintain(Unhandled::Wait).await.waiting_for, []);
    world.pass(OVERDUE);
    let reason = WaitReason::Handler("gone".to_owned());
    assert_eq!(waiting().await, [Waiting { reason: reason.clone(), events: 2 }]);
    assert_eq!(one.maintain(Unhandled::Wait).await.waiting_for, [("gone".to_owned(), 2)]);
    assert_eq!(world.explain(id).await.waits_for, Some(reason));
    let back = world.worker([handler("gone", "t"), handler("b", "t")]).await;
    assert_eq!(back.maintain(Unhandled::Wait).await.waiting_for, [], "they are its own");
    back.work_off().await;
    assert_eq!(waiting().await, []);
}

/// A handler that failed is retried on its own schedule, though the event also waits for another binary.
pub async fn a_retry_does_not_wait_for_another_binary(world: World) {
    let one = world.worker([handler("a", "t")]).await;
    let _absent = world.worker([handler("b", "t")]).await;
    let id = world.enqueue(event("t")).await;
    one.take_one().await.fail(world.now().after(5 * SECOND)).await;
    one.finds_nothing().await;
    assert_eq!(one.next_due().await, Some(world.now().after(5 * SECOND)));
    world.pass(5 * SECOND);
    let taken = one.take_one().await;
    assert_eq!((taken.event.id, taken.claims[0].attempt), (id, 2));
}

/// And the other binary does not wait for a handler that is to be retried.
pub async fn another_binary_does_not_wait_for_a_retry(world: World) {
    let one = world.worker([handler("a", "t")]).await;
    let other = world.worker([handler("b", "t")]).await;
    let id = world.enqueue(event("t")).await;
    one.take_one().await.fail(world.now().after(300 * SECOND)).await;
    let taken = other.take_one().await;
    assert_eq!((taken.event.id, taken.handlers()), (id, vec!["b".to_owned()]));
    taken.done().await;
    assert_eq!(world.state(id).await, EventState::Pending);
    world.pass(300 * SECOND);
    one.take_one().await.done().await;
    assert_eq!(world.state(id).await, EventState::Done);
}

/// Of two binaries that share a handler, whichever comes first runs it.
pub async fn binaries_that_share_a_handler_run_it_once(world: World) {
    let one = world.worker([handler("a", "t"), handler("shared", "t")]).await;
    let other = world.worker([handler("b", "t"), handler("shared", "t")]).await;
    let id = world.enqueue(event("t")).await;
    let taken = one.take_one().await;
    assert_eq!(taken.handlers(), ["a", "shared"]);
    taken.done().await;
    let taken = other.take_one().await;
    assert_eq!(taken.handlers(), ["b"]);
    taken.done().await;
    assert_eq!(world.state(id).await, EventState::Done);
}

/// A handler that no binary has any more is retired: the events that waited for it alone are done, their number is
/// told, and later ones do not wait.
pub async fn a_forgotten_handler_is_waited_for_no_more(world: World) {
    let one = world.worker([handler("a", "t")]).await;
    let _gone = world.worker([handler("b", "t")]).await;
    let ids = world.enqueue_all([event("t"), event("t")]).await;
    for taken in one.take().await {
        taken.done().await;
    }
    let untouched = world.enqueue(event("t")).await;
    assert_eq!(world.admin.forget_handler("b").await.unwrap(), 3);
    assert_eq!(world.admin.forget_handler("b").await.unwrap(), 0);
    for id in ids {
        assert_eq!(world.state(id).await, EventState::Done);
    }
    assert_eq!(world.state(untouched).await, EventState::Pending);
    one.take_one().await.done().await;
    assert_eq!(world.state(untouched).await, EventState::Done);
    let listed = world.admin.handlers().await.unwrap();
    assert_eq!(listed.iter().map(|listed| &*listed.handler).collect::<Vec<_>>(), ["a"]);
}

/// Nor does it matter any more that it gave up on an earlier event of a key and kept the later ones waiting.
pub async fn a_forgotten_handler_holds_back_nothing_of_its_key(world: World) {
    let blocking = SubscribedHandler { on_dead: OnDead::Block, ..handler("gone", "t") };
    let worker = world.worker([handler("a", "t"), blocking]).await;
    let ids = world.enqueue_all([event("t").key("k"), event("t").key("k")]).await;
    let first = worker.take_one().await;
    world.ledger.done(first.claim("a")).await.unwrap();
    world.ledger.bury(first.claim("gone"), "hopeless").await.unwrap();
    first.settle(Settlement::Done).await;
    assert_eq!(worker.work_off().await, [(ids[1], "a".to_owned())]);
    assert_eq!(world.explain(ids[1]).await.waits_for, Some(WaitReason::Key));

    assert_eq!(world.admin.forget_handler("gone").await.unwrap(), 1);
    assert_eq!(world.state(ids[1]).await, EventState::Done);
}

/// Nor that it did not know the version of an event that every other handler has finished.
pub async fn a_forgotten_handler_that_knew_too_little_is_waited_for_no_more(world: World) {
    let gone = SubscribedHandler { max_version: 1, ..handler("gone", "t") };
    let worker = world.worker([handler("a", "t"), gone]).await;
    let id = world.enqueue(event("t").version(2)).await;
    assert_eq!(worker.work_off().await, [(id, "a".to_owned())]);
    assert_eq!(world.state(id).await, EventState::Pending);
    assert_eq!(world.admin.forget_handler("gone").await.unwrap(), 1);
    assert_eq!(world.state(id).await, EventState::Done);
}

/// Nor does it matter that it has begun, or that its turn within a key has come.
pub async fn a_forgotten_handler_that_still_runs_is_waited_for_no_more(world: World) {
    let worker = world.worker([handler("a", "t"), handler("gone", "t")]).await;
    let id = world.enqueue(event("t")).await;
    let taken = worker.take_one().await;
    world.ledger.done(taken.claim("a")).await.unwrap();
    taken.settle(Settlement::Defer { until: world.now() }).await;
    assert_eq!(world.state(id).await, EventState::Pending);
    assert_eq!(world.admin.forget_handler("gone").await.unwrap(), 1);
    assert_eq!(world.state(id).await, EventState::Done);
}

/// Nor that it gave up: the event is done when all others have done it.
pub async fn what_a_forgotten_handler_gave_up_does_not_make_an_event_dead(world: World) {
    let worker = world.worker([handler("a", "t"), handler("gone", "t")]).await;
    let id = world.enqueue(event("t")).await;
    let taken = worker.take_one().await;
    world.ledger.bury(taken.claim("gone"), "hopeless").await.unwrap();
    world.admin.forget_handler("gone").await.unwrap();
    world.ledger.done(taken.claim("a")).await.unwrap();
    taken.settle(Settlement::Done).await;
    assert_eq!(world.state(id).await, EventState::Done);
}

/// Where it was the only one, the events wait for any handler: they were not run. One that is listed later, though of the
/// same name, begins anew.
pub async fn events_of_a_type_whose_last_handler_is_forgotten_wait_for_any(world: World) {
    let worker = world.worker_for("t").await;
    let id = world.enqueue(event("t")).await;
    worker.take_one().await.fail(world.now().after(300 * SECOND)).await;
    assert_eq!(world.admin.forget_handler("t").await.unwrap(), 1);
    let explanation = world.explain(id).await;
    let expected = WaitReason::AnyHandler { event_type: "t".to_owned() };
    assert_eq!((explanation.state, explanation.waits_for), (Some(EventState::Pending), Some(expected)));

    let deployed = world.worker_for("t").await;
    world.pass(300 * SECOND);
    assert_eq!(deployed.take_one().await.claims[0].attempt, 1);
}

/// Nor is an event done that a worker has in its hands meanwhile, and gives back.
pub async fn an_event_in_hand_whose_last_handler_is_forgotten_is_not_done(world: World) {
    let worker = world.worker_for("t").await;
    let id = world.enqueue(event("t")).await;
    let taken = worker.take_one().await;
    world.admin.forget_handler("t").await.unwrap();
    taken.fail(world.now()).await;
    assert_eq!(world.state(id).await, EventState::Pending);
}

/// A handler that is new gets the events that are not finished; those that are do not come back for it.
pub async fn a_new_handler_gets_what_is_not_finished(world: World) {
    let old = world.worker([handler("a", "t")]).await;
    let ids = world.enqueue_all([event("t"), event("t").after(SECOND)]).await;
    old.take_one().await.done().await;
    let new = world.worker([handler("a", "t"), handler("b", "t")]).await;
    new.finds_nothing().await;
    assert_eq!(world.state(ids[0]).await, EventState::Done);
    world.pass(SECOND);
    let taken = new.take_one().await;
    assert_eq!((taken.event.id, taken.handlers()), (ids[1], vec!["a".to_owned(), "b".to_owned()]));
}

/// Also those that stand behind dead letters of others.
pub async fn a_new_handler_gets_what_others_hold_back(world: World) {
    let blocking = || SubscribedHandler { on_dead: OnDead::Block, ..handler("a", "t") };
    let old = world.worker([blocking()]).await;
    let ids = world.enqueue_all([event("t").key("k"), event("t").key("k")]).await;
    old.bury_all("hopeless").await;
    old.finds_nothing().await;
    let new = world.worker([blocking(), handler("b", "t")]).await;
    assert_eq!(new.work_off().await, [(ids[1], "b".to_owned())]);
}

/// And those on which another handler still runs, at once.
pub async fn a_new_handler_does_not_wait_for_one_that_still_runs(world: World) {
    let old = world.worker([handler("a", "t")]).await;
    world.enqueue(event("t")).await;
    old.take_one().await.settle(Settlement::Defer { until: world.now() }).await;
    let new = world.worker([handler("a", "t"), handler("b", "t")]).await;
    assert_eq!(new.take_one().await.handlers(), ["b"]);
}

/// An event of a version above the known one waits, visibly, for a newer worker, which may be of the same handler.
pub async fn a_newer_version_waits_for_a_newer_worker(world: World) {
    let old = world.worker([up_to(1)]).await;
    let ids = world.enqueue_all([event("t").version(2), event("t")]).await;
    assert_eq!(old.work_off().await, [(ids[1], "h".to_owned())], "an event that it knows is not held up");
    assert_eq!(old.next_due().await, None);
    let expected = WaitReason::Version { event_type: "t".to_owned(), version: 2 };
    assert_eq!(world.explain(ids[0]).await.waits_for, Some(expected));

    let new = world.worker([up_to(2)]).await;
    old.finds_nothing().await;
    assert_eq!(new.work_off().await, [(ids[0], "h".to_owned())]);
    assert_eq!(world.state(ids[0]).await, EventState::Done);
}

/// Where two handlers of a type know different versions, each runs what it knows.
pub async fn each_handler_runs_the_versions_that_it_knows(world: World) {
    let slow = SubscribedHandler { max_version: 1, ..handler("slow", "t") };
    let worker = world.worker([up_to(2), slow]).await;
    let id = world.enqueue(event("t").version(2)).await;
    assert_eq!(worker.work_off().await, [(id, "h".to_owned())]);
    assert_eq!(world.state(id).await, EventState::Pending, "it waits for a newer `slow`");
}

/// A pattern takes every type that fits, also those that it sees for the first time.
pub async fn a_pattern_takes_every_type_that_fits(world: World) {
    let worker = world.worker([handler("mails", "mlc.*")]).await;
    let ids =
        world.enqueue_all([event("mlc.down"), event("mlc"), event("mlc.up.again"), event("other")]).await;
    let worked = worker.work_off().await;
    assert_eq!(worked, [(ids[0], "mails".to_owned()), (ids[2], "mails".to_owned())]);
    assert_eq!(world.state(ids[1]).await, EventState::Pending);
}

/// A handler of a pattern runs events that waited for their version when no worker knew it, whatever the number.
pub async fn a_pattern_gets_events_that_waited_for_their_version(world: World) {
    let old = world.worker([up_to(1)]).await;
    let ids = world.enqueue_all([event("t").version(2), event("t").version(1_000)]).await;
    old.finds_nothing().await;
    let new = world.worker([SubscribedHandler { max_version: 1_000, ..handler("h", "t*") }]).await;
    assert_eq!(new.work_off().await, [(ids[0], "h".to_owned()), (ids[1], "h".to_owned())]);
}

/// An event that is too new for one worker waits for another binary, and for a newer worker, which do not wait for each
/// other.
pub async fn a_newer_worker_does_not_wait_for_another_binary(world: World) {
    let old = world.worker([up_to(1)]).await;
    let new = world.worker([up_to(2)]).await;
    let _absent = world.worker([handler("elsewhere", "t")]).await;
    let id = world.enqueue(event("t").version(2)).await;
    old.finds_nothing().await;
    assert_eq!(new.work_off().await, [(id, "h".to_owned())]);
}
