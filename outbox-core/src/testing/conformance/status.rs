//! What an operator sees.

use super::world::{MILLISECOND, SECOND, World, event, failed, handler};
use crate::{ClaimState, EventId, EventState, Settlement, Unhandled, WaitReason, Waiting};

/// Events are counted per type and state, and the oldest that should have been handled is told.
pub async fn status_counts_events_per_type_and_state(world: World) {
    let worker = world.worker([handler("a", "t"), handler("b", "u")]).await;
    let start = world.now();
    world.enqueue_all([event("t"), event("t"), event("u")]).await;
    let [done, dead, in_hand] = <[_; 3]>::try_from(worker.take().await).ok().expect("three are due");
    done.done().await;
    dead.bury("hopeless").await;
    world.pass(SECOND);
    world.enqueue_all([event("u"), event("u").after(3_600 * SECOND)]).await;

    let status = world.admin.status().await.unwrap();
    let counts: Vec<_> = status
        .counts
        .iter()
        .map(|count| (&*count.event_type, count.state, count.events, count.oldest))
        .collect();
    let later = start.after(SECOND);
    let mut expected = [
        ("t", EventState::Done, 1, Some(start)),
        ("t", EventState::DeadLettered, 1, Some(start)),
        ("u", EventState::Processing, 1, Some(start)),
        ("u", EventState::Pending, 2, Some(later)),
    ];
    expected.sort();
    let mut sorted = counts.clone();
    sorted.sort();
    assert_eq!(sorted, expected);
    assert!(counts.is_sorted_by_key(|count| count.0), "by type: {counts:?}");
    assert_eq!((status.dead_letters, status.count(EventState::Pending)), (1, 2));
    in_hand.done().await;
    assert_eq!(world.admin.status().await.unwrap().oldest, Some(later), "the delayed one is not overdue");
}

/// An empty store has nothing to tell.
pub async fn an_empty_store_has_an_empty_status(world: World) {
    assert_eq!(world.admin.status().await.unwrap(), crate::Status::default());
    assert_eq!(world.dead_letters().await, []);
    assert_eq!(world.admin.handlers().await.unwrap(), []);
    assert_eq!(world.admin.explain(EventId::new()).await.unwrap(), None);
}

/// Upkeep measures the backlog: what is due and not finished, and the oldest of it.
pub async fn upkeep_measures_the_backlog(world: World) {
    let worker = world.worker_for("t").await;
    let start = world.now();
    world.enqueue_all([event("t"), event("t"), event("t").after(SECOND)]).await;
    let report = worker.maintain(Unhandled::Wait).await;
    assert_eq!((report.backlog, report.oldest), (2, Some(start)));
    worker.work_off().await;
    let report = worker.maintain(Unhandled::Wait).await;
    assert_eq!((report.backlog, report.oldest), (0, None));
}

/// Its age counts from when the oldest was due, not from when it was written.
pub async fn the_backlog_is_as_old_as_its_oldest_event_is_due(world: World) {
    let worker = world.worker_for("t").await;
    let due = world.now().after(60 * SECOND);
    world.enqueue_all([event("t").after(60 * SECOND), event("t"), event("t").after(61 * SECOND)]).await;
    worker.take_one().await.fail(world.now().after(62 * SECOND)).await;
    world.pass(63 * SECOND);
    let report = worker.maintain(Unhandled::Wait).await;
    assert_eq!((report.backlog, report.oldest), (3, Some(due)));
}

/// A deploy of handlers for other types makes nothing due.
pub async fn a_deploy_makes_nothing_due_that_is_not(world: World) {
    let worker = world.worker([handler("a", "t"), handler("b", "t")]).await;
    world.enqueue(event("t")).await;
    let taken = worker.take_one().await;
    let due = world.now().after(5 * SECOND);
    world.ledger.done(taken.claim("a")).await.unwrap();
    world.ledger.release(taken.claim("b"), &failed(due, "later")).await.unwrap();
    taken.settle(Settlement::Retry { at: due, error: "later".to_owned() }).await;
    let deployed = world.worker([handler("a", "t"), handler("c", "u")]).await;
    assert_eq!(world.admin.status().await.unwrap().oldest, None);
    deployed.finds_nothing().await;
}

/// The handlers that events wait for are listed with when a worker had them first and last.
pub async fn listed_handlers_tell_when_they_were_seen(world: World) {
    let first = world.now();
    world.worker([handler("a", "t"), handler("mails", "mlc.*")]).await;
    world.pass(SECOND);
    world.worker([handler("a", "t")]).await;
    let mut listed = world.admin.handlers().await.unwrap();
    listed.sort_by(|a, b| a.handler.cmp(&b.handler));
    let seen: Vec<_> = listed
        .iter()
        .map(|listed| (&*listed.handler, &*listed.event_type, listed.first_seen, listed.last_seen))
        .collect();
    assert_eq!(seen, [("a", "t", first, first.after(SECOND)), ("mails", "mlc.*", first, first)]);
}

/// `explain` shows an event with its handlers: those that finished, those that fail, those that have not begun.
pub async fn explain_shows_how_far_each_handler_is(world: World) {
    let worker = world.worker([handler("a", "t"), handler("b", "t")]).await;
    let _absent = world.worker([handler("c", "t")]).await;
    let id = world.enqueue(event("t").key("k").version(2).header("tenant", "acme")).await;
    let before = world.explain(id).await;
    assert_eq!((before.state, before.available_at), (Some(EventState::Pending), world.now()));
    assert!(before.handlers.iter().all(|handler| handler.state.is_none() && handler.attempts == 0));

    let taken = worker.take_one().await;
    let started = world.now();
    world.pass(SECOND);
    let due = world.now().after(5 * SECOND);
    world.ledger.done(taken.claim("a")).await.unwrap();
    world.ledger.release(taken.claim("b"), &failed(due, "no network")).await.unwrap();
    taken.settle(Settlement::Retry { at: due, error: "no network".to_owned() }).await;

    let explanation = world.explain(id).await;
    assert_eq!((explanation.event_id, &*explanation.event_type, explanation.version), (id, "t", 2));
    assert_eq!((explanation.key.as_deref(), &*explanation.headers["tenant"]), (Some("k"), "acme"));
    let [a, b, c] = &explanation.handlers[..] else { panic!("three handlers: {:?}", explanation.handlers) };
    assert_eq!((&*a.handler, a.state, a.attempts), ("a", Some(ClaimState::Done), 1));
    assert_eq!((a.started_at, a.processed_at), (Some(started), Some(started.after(SECOND))));
    assert_eq!(a.owner, Some(worker.owner.to_string()));
    assert_eq!((&*b.handler, b.state, b.attempts), ("b", Some(ClaimState::Released), 1));
    assert_eq!((b.lease_until, b.last_error.as_deref()), (Some(due), Some("no network")));
    assert_eq!((&*c.handler, c.state, c.attempts), ("c", None, 0));
}

/// Its timeline is in order and tells of the event and of each handler that has begun; printed, it names the errors.
pub async fn explain_tells_a_timeline(world: World) {
    let worker = world.worker([handler("a", "t"), handler("b", "t")]).await;
    let start = world.now();
    let id = world.enqueue(event("t")).await;
    world.pass(SECOND);
    let taken = worker.take_one().await;
    world.pass(SECOND);
    world.ledger.bury(taken.claim("a"), "no such poster").await.unwrap();
    world.pass(SECOND);
    world.ledger.done(taken.claim("b")).await.unwrap();
    taken.settle(Settlement::Done).await;

    let explanation = world.explain(id).await;
    let timeline = &explanation.timeline;
    assert!(timeline.is_sorted_by_key(|entry| entry.at), "{timeline:?}");
    assert_eq!((timeline[0].at, &timeline[0].handler), (start, &None), "it begins with the event");
    for handler in ["a", "b"] {
        let at: Vec<_> = timeline
            .iter()
            .filter(|entry| entry.handler.as_deref() == Some(handler))
            .map(|entry| entry.at)
            .collect();
        assert_eq!(at[0], start.after(SECOND), "{handler} starts: {timeline:?}");
        assert!(*at.last().unwrap() > at[0], "{handler} ends: {timeline:?}");
    }
    let printed = explanation.to_string();
    for expected in [&*id.to_string(), "dead_lettered", "no such poster"] {
        assert!(printed.contains(expected), "{expected}: {printed}");
    }
}

/// An event that is not due yet says when it is.
pub async fn explain_tells_when_a_delayed_event_is_due(world: World) {
    world.worker_for("t").await;
    let id = world.enqueue(event("t").after(3_600 * SECOND)).await;
    let printed = world.explain(id).await.to_string();
    let due = world.now().after(3_600 * SECOND);
    assert!(printed.contains(&format!(": pending, due {due}")), "{printed}");
}

/// Events that are not due yet are counted as waiting for that.
pub async fn delayed_events_are_counted_as_waiting(world: World) {
    let worker = world.worker_for("t").await;
    world.enqueue_all([event("t"), event("t").after(60 * SECOND), event("t").after(61 * SECOND)]).await;
    let waiting = world.admin.status().await.unwrap().waiting;
    assert_eq!(waiting, [Waiting { reason: WaitReason::DueTime, events: 2 }]);
    world.pass(61 * SECOND);
    worker.work_off().await;
    assert_eq!(world.admin.status().await.unwrap().waiting, []);
}

/// An event in a worker's hands says until when.
pub async fn explain_tells_until_when_an_event_is_in_hand(world: World) {
    let worker = world.worker_for("t").await;
    let id = world.enqueue(event("t")).await;
    let taken = worker.take_one().await;
    world.pass(MILLISECOND);
    let explanation = world.explain(id).await;
    assert_eq!(explanation.state, Some(EventState::Processing));
    let progress = &explanation.handlers[0];
    assert_eq!(
        (progress.state, progress.lease_until),
        (Some(ClaimState::InProgress), Some(taken.claims[0].lease_until))
    );
    assert_eq!(progress.owner, Some(worker.owner.to_string()));
}
