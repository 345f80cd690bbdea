//! Giving up, and what an operator makes of it.

use super::world::{MAX_ATTEMPTS, SECOND, World, all, event, failed, handler};
use crate::{ClaimState, DeadLetterFilter, EventState, NewEvent, Settlement};

/// An event one of whose handlers gave up is dead-lettered when the others have finished, and is listed with all that
/// is needed to judge it.
pub async fn a_dead_letter_tells_what_happened(world: World) {
    let worker = world.worker([handler("a", "t"), handler("b", "t")]).await;
    let id = world.enqueue(NewEvent::raw("t", r#"{"n": 1}"#).key("k")).await;
    let taken = worker.take_one().await;
    world.pass(SECOND);
    let died_at = world.now();
    world.ledger.bury(taken.claim("a"), "404: no such poster").await.unwrap();
    assert_eq!(world.dead_letters().await.len(), 1, "listed although b still runs");
    world.ledger.done(taken.claim("b")).await.unwrap();
    taken.settle(Settlement::Done).await;

    assert_eq!(world.state(id).await, EventState::DeadLettered);
    let dead = world.dead_letters().await;
    let [letter] = &dead[..] else { panic!("one dead letter: {dead:?}") };
    assert_eq!((letter.event_id, &*letter.event_type, letter.key.as_deref()), (id, "t", Some("k")));
    assert_eq!((letter.handler.as_deref(), letter.attempts), (Some("a"), 1));
    assert_eq!((&*letter.reason, letter.died_at), ("404: no such poster", died_at));
    assert_eq!(letter.payload, r#"{"n": 1}"#);
    worker.finds_nothing().await;
}

/// The list is in the order of the deaths, oldest first, and no longer than asked for.
pub async fn dead_letters_are_listed_oldest_first(world: World) {
    let worker = world.worker_for("t").await;
    let ids = world.enqueue_all([event("t"), event("t"), event("t")]).await;
    let mut taken = worker.take().await;
    taken.reverse();
    for taken in taken {
        world.pass(SECOND);
        taken.bury("hopeless").await;
    }
    let listed = world.admin.dead_letters(&all(), 2).await.unwrap();
    assert_eq!(listed.iter().map(|letter| letter.event_id).collect::<Vec<_>>(), [ids[2], ids[1]]);
}

/// Each field of a filter narrows it down, for listing as for redriving.
pub async fn a_filter_selects_by_each_of_its_fields(world: World) {
    let worker = world.worker([handler("a", "t"), handler("b", "u")]).await;
    let ids = world.enqueue_all([event("t"), event("u")]).await;
    for taken in worker.take().await {
        let reason = format!("50% of {}_x", taken.event.event_type);
        taken.bury(&reason).await;
        world.pass(10 * SECOND);
    }
    let first_only = [
        DeadLetterFilter { event_id: Some(ids[0]), ..all() },
        DeadLetterFilter { event_type: Some("t".to_owned()), ..all() },
        DeadLetterFilter { handler: Some("a".to_owned()), ..all() },
        DeadLetterFilter { error_contains: Some("50% of t_".to_owned()), ..all() },
        DeadLetterFilter { dead_for: Some(20 * SECOND), ..all() },
    ];
    for filter in &first_only {
        let listed = world.admin.dead_letters(filter, 10).await.unwrap();
        assert_eq!(listed.iter().map(|letter| letter.event_id).collect::<Vec<_>>(), [ids[0]], "{filter:?}");
    }
    let none = [
        DeadLetterFilter { handler: Some("b".to_owned()), event_type: Some("t".to_owned()), ..all() },
        DeadLetterFilter { error_contains: Some("OF T".to_owned()), ..all() },
        DeadLetterFilter { error_contains: Some("5_%".to_owned()), ..all() },
        DeadLetterFilter { dead_for: Some(21 * SECOND), ..all() },
    ];
    for filter in &none {
        assert_eq!(world.admin.dead_letters(filter, 10).await.unwrap(), [], "{filter:?}");
        assert_eq!(world.admin.retry(filter).await.unwrap(), 0, "{filter:?}");
        assert_eq!(world.admin.discard(filter).await.unwrap(), 0, "{filter:?}");
    }
    assert_eq!(world.admin.retry(&first_only[2]).await.unwrap(), 1);
    assert_eq!(worker.take_ids().await, [ids[0]]);
}

/// A redrive runs the handlers that gave up, with all of their attempts, and no other.
pub async fn a_redrive_runs_only_the_dead_handlers_with_fresh_attempts(world: World) {
    let worker = world.worker([handler("a", "t"), handler("b", "t"), handler("c", "t")]).await;
    let id = world.enqueue(event("t")).await;
    for attempt in 1..=MAX_ATTEMPTS {
        let taken = worker.take_one().await;
        if attempt == 1 {
            world.ledger.done(taken.claim("a")).await.unwrap();
            world.ledger.bury(taken.claim("b"), "hopeless").await.unwrap();
        }
        if attempt == MAX_ATTEMPTS {
            world.ledger.bury(taken.claim("c"), "tried everything").await.unwrap();
            taken.settle(Settlement::Done).await;
        } else {
            world.ledger.release(taken.claim("c"), &failed(world.now(), "again")).await.unwrap();
            taken.settle(Settlement::Retry { at: world.now(), error: "again".to_owned() }).await;
        }
    }
    assert_eq!(world.state(id).await, EventState::DeadLettered);
    let untouched = world.progress(id, "a").await;

    let only_c = DeadLetterFilter { handler: Some("c".to_owned()), ..all() };
    assert_eq!(world.admin.retry(&only_c).await.unwrap(), 1);
    assert_eq!(world.state(id).await, EventState::Pending);
    assert_eq!(world.progress(id, "c").await.attempts, 0);
    for attempt in 1..MAX_ATTEMPTS {
        let taken = worker.take_one().await;
        assert_eq!((taken.handlers(), taken.claims[0].attempt), (vec!["c".to_owned()], attempt));
        taken.fail(world.now()).await;
    }
    worker.take_one().await.done().await;
    assert_eq!(world.state(id).await, EventState::DeadLettered, "b is still dead");
    assert_eq!(world.claim_state(id, "b").await, Some(ClaimState::Dead));

    assert_eq!(world.admin.retry(&all()).await.unwrap(), 1);
    assert_eq!(worker.work_off().await, [(id, "b".to_owned())]);
    assert_eq!(world.state(id).await, EventState::Done);
    assert_eq!(world.progress(id, "a").await, untouched);
}

/// A dead handler can be redriven while others of its event still wait or run.
pub async fn a_redrive_works_before_the_event_is_finished(world: World) {
    let worker = world.worker([handler("a", "t"), handler("b", "t")]).await;
    let id = world.enqueue(event("t")).await;
    let taken = worker.take_one().await;
    let due = world.now().after(300 * SECOND);
    world.ledger.bury(taken.claim("a"), "hopeless").await.unwrap();
    world.ledger.release(taken.claim("b"), &failed(due, "later")).await.unwrap();
    taken.settle(Settlement::Retry { at: due, error: "later".to_owned() }).await;
    worker.finds_nothing().await;
    assert_eq!(world.admin.retry(&all()).await.unwrap(), 1);
    assert_eq!(worker.work_off().await, [(id, "a".to_owned())]);
    world.pass(300 * SECOND);
    assert_eq!(worker.work_off().await, [(id, "b".to_owned())]);
    assert_eq!(world.state(id).await, EventState::Done);
}

/// What is discarded runs nowhere again and is listed no more; other dead letters stay.
pub async fn a_discarded_dead_letter_is_gone_for_good(world: World) {
    let worker = world.worker_for("t").await;
    let ids = world.enqueue_all([event("t"), event("t")]).await;
    worker.bury_all("hopeless").await;
    let first = DeadLetterFilter { event_id: Some(ids[0]), ..all() };
    assert_eq!(world.admin.discard(&first).await.unwrap(), 1);
    let left: Vec<_> = world.dead_letters().await.iter().map(|letter| letter.event_id).collect();
    assert_eq!(left, [ids[1]]);
    assert_eq!(world.admin.retry(&first).await.unwrap(), 0);
    world.pass(3_600 * SECOND);
    worker.finds_nothing().await;
    let row = world.admin.explain(ids[0]).await.unwrap().and_then(|explanation| explanation.state);
    assert_eq!(row, None, "the event's row is deleted");
}

/// What was discarded is told as that, with the reason why it was given up, even when its event is gone from the queue.
pub async fn a_discard_is_told_with_its_reason(world: World) {
    let worker = world.worker_for("t").await;
    let id = world.enqueue(event("t")).await;
    worker.bury_all("no such poster").await;
    assert_eq!(world.admin.discard(&all()).await.unwrap(), 1);
    assert_eq!(world.progress(id, "t").await.discarded(), Some("no such poster"));
    let printed = world.explain(id).await.to_string();
    assert!(printed.contains(" discarded: no such poster"), "{printed}");
    assert!(printed.starts_with(&format!("{id}: no longer in the queue")), "{printed}");
}

/// A handler that is redriven has all of its attempts again, and the failure that it gave up with is still told.
pub async fn a_redrive_is_told(world: World) {
    let worker = world.worker_for("t").await;
    let id = world.enqueue(event("t")).await;
    worker.bury_all("no such poster").await;
    world.pass(SECOND);
    assert_eq!(world.admin.retry(&all()).await.unwrap(), 1);
    let printed = world.explain(id).await.to_string();
    assert!(printed.contains("begins anew, with all of its attempts, after: no such poster"), "{printed}");
    assert!(!printed.contains("attempt 0"), "{printed}");
}

/// Discarding one handler's dead letter leaves the event to the handlers that have not finished.
pub async fn discarding_leaves_the_event_to_the_other_handlers(world: World) {
    let worker = world.worker([handler("a", "t"), handler("b", "t")]).await;
    let id = world.enqueue(event("t")).await;
    let taken = worker.take_one().await;
    world.ledger.bury(taken.claim("a"), "hopeless").await.unwrap();
    world.ledger.release(taken.claim("b"), &failed(world.now(), "again")).await.unwrap();
    taken.settle(Settlement::Retry { at: world.now(), error: "again".to_owned() }).await;
    assert_eq!(world.admin.discard(&all()).await.unwrap(), 1);
    assert_eq!(worker.work_off().await, [(id, "b".to_owned())]);
    world.pass(3_600 * SECOND);
    worker.finds_nothing().await;
    assert_eq!(world.dead_letters().await, []);
}

/// An event that is dead-lettered as a whole, as a relay does with one that a broker refuses, is listed without a
/// handler, and a redrive delivers it again.
pub async fn an_event_can_be_dead_lettered_as_a_whole(world: World) {
    let worker = world.worker_for("t").await;
    let id = world.enqueue(event("t")).await;
    let taken = worker.take_one().await;
    world.ledger.release(&taken.claims[0], &failed(world.now(), "refused")).await.unwrap();
    taken.settle(Settlement::Dead { reason: "payload exceeds the broker's limit".to_owned() }).await;
    assert_eq!(world.state(id).await, EventState::DeadLettered);
    worker.finds_nothing().await;
    let dead = world.dead_letters().await;
    assert_eq!((dead.len(), &dead[0].handler), (1, &None));
    assert_eq!(dead[0].reason, "payload exceeds the broker's limit");

    assert_eq!(world.admin.retry(&all()).await.unwrap(), 1);
    assert_eq!(worker.work_off().await, [(id, "t".to_owned())]);
    assert_eq!(world.state(id).await, EventState::Done);
}

/// What its worker still ran of it is given back as if it had not begun; what others run goes on.
pub async fn giving_up_an_event_ends_no_claim_of_others(world: World) {
    let worker = world.worker_for("t").await;
    let id = world.enqueue(event("t")).await;
    let taken = worker.take_one().await;
    let elsewhere = world.granted(id, "elsewhere").await;
    taken.settle(Settlement::Dead { reason: "refused".to_owned() }).await;
    let own = world.progress(id, "t").await;
    assert_eq!((own.state, own.attempts), (Some(ClaimState::Released), 0));
    world.ledger.done(&elsewhere).await.expect("it is still its own");
}

/// An event that goes with its last dead letter leaves nothing to be run.
pub async fn nothing_is_left_of_an_event_that_is_discarded(world: World) {
    let worker = world.worker([handler("a", "t"), handler("b", "t")]).await;
    let id = world.enqueue(event("t")).await;
    let taken = worker.take_one().await;
    world.ledger.release(taken.claim("a"), &failed(world.now(), "again")).await.unwrap();
    world.ledger.bury(taken.claim("b"), "hopeless").await.unwrap();
    taken.settle(Settlement::Dead { reason: "refused".to_owned() }).await;
    assert_eq!(world.admin.discard(&all()).await.unwrap(), 1);
    let states: Vec<_> = world.explain(id).await.handlers.into_iter().map(|handler| handler.state).collect();
    assert_eq!(states, [Some(ClaimState::Done), Some(ClaimState::Done)]);
}
