//! The bus: events reach one worker at a time, whole and when they are due.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use super::ROW_LEASE;
use super::world::{MILLISECOND, SECOND, World, event, handler};
use crate::{Envelope, EventId, EventState, Headers, NewEvent, Receipt, Settlement};

/// Everything that was said about an event arrives with it.
pub async fn an_event_arrives_as_it_was_enqueued(world: World) {
    let worker = world.worker_for("movie.added").await;
    let new =
        NewEvent::raw("movie.added", r#"{"title":"Heat"}"#).version(3).key("m1").header("Tenant", "acme");
    let id = world.enqueue(new).await;
    let expected = Envelope {
        id,
        event_type: "movie.added".to_owned(),
        version: 3,
        key: Some("m1".to_owned()),
        payload: r#"{"title":"Heat"}"#.to_owned(),
        headers: Headers::from([("tenant".to_owned(), "acme".to_owned())]),
        occurred_at: world.now(),
    };
    assert_eq!(*worker.take_one().await.event, expected);
}

/// Payloads are text that nobody reformats: digits, key order, duplicate keys, spacing, other scripts.
pub async fn a_payload_arrives_byte_for_byte(world: World) {
    let worker = world.worker_for("t").await;
    for payload in [
        r#"{"u":18446744073709551615,"i":-9223372036854775808,"j":9007199254740993,"d":0.1234567890123456789}"#,
        "{ \"dup\" : 1,\n\t\"dup\" : 2, \"a\":[1.0,1e3,-0.0] }",
        r#""é \u00e9 🎬 \u0000 ' \" \\""#,
        "null",
    ] {
        world.enqueue(NewEvent::raw("t", payload)).await;
        let taken = worker.take_one().await;
        assert_eq!(taken.event.payload, payload);
        taken.done().await;
    }
}

/// An id that is there already is reported, and neither replaces the event nor brings it again, before and after it was
/// handled.
pub async fn a_duplicate_id_is_reported_and_delivered_once(world: World) {
    let worker = world.worker_for("t").await;
    let id = EventId::new();
    let enqueue = async |payload: &str| {
        let event = NewEvent::raw("t", payload).id(id);
        let written = world.backend().enqueue_all(vec![event]).await.expect("a duplicate is no error");
        (written[0].id, written[0].duplicate)
    };
    assert_eq!(enqueue("1").await, (id, false));
    assert_eq!(enqueue("2").await, (id, true));
    let taken = worker.take_one().await;
    assert_eq!(taken.event.payload, "1");
    taken.done().await;
    assert_eq!(enqueue("3").await, (id, true));
    worker.finds_nothing().await;
}

/// Duplicates within one call are told apart from the events beside them, in order.
pub async fn a_batch_reports_each_of_its_events(world: World) {
    let worker = world.worker_for("t").await;
    let ids = [EventId::new(), EventId::new()];
    let batch = vec![event("t").id(ids[0]), event("t").id(ids[1]), event("t").id(ids[0])];
    let written = world.backend().enqueue_all(batch).await.unwrap();
    let told: Vec<_> = written.iter().map(|written| (written.id, written.duplicate)).collect();
    assert_eq!(told, [(ids[0], false), (ids[1], false), (ids[0], true)]);
    assert_eq!(worker.take_ids().await, ids);
}

/// One event that breaks the rules keeps its batch from being written, and says why.
pub async fn an_invalid_event_is_refused_and_nothing_is_written(world: World) {
    let worker = world.worker([handler("h", "*")]).await;
    let batch = vec![event("t"), NewEvent::raw("no spaces", "{}")];
    let error = world.backend().enqueue_all(batch).await.unwrap_err().to_string();
    assert!(error.contains("no spaces"), "{error}");
    worker.finds_nothing().await;
}

/// An event that a publisher hands over is delivered; handing it over again is fine and changes nothing.
pub async fn a_published_event_is_delivered_once(world: World) {
    let worker = world.worker_for("t").await;
    world.enqueue(event("t")).await;
    let enqueued = worker.take_one().await;
    let known = (*enqueued.event).clone();
    let answers = worker.bus.publish(std::slice::from_ref(&known)).await;
    assert!(matches!(answers[..], [Ok(())]), "{answers:?}");
    enqueued.done().await;
    worker.finds_nothing().await;

    let new = Envelope { id: EventId::new(), ..known };
    let answers = worker.bus.publish(&[new.clone(), new.clone()]).await;
    assert!(matches!(answers[..], [Ok(()), Ok(())]), "{answers:?}");
    assert_eq!(*worker.take_one().await.event, new);
}

/// Without order to keep, what was due first comes first, and of two that are due together the one written first.
pub async fn events_come_in_the_order_of_their_due_times(world: World) {
    let worker = world.worker_for("t").await;
    let ids = world
        .enqueue_all([event("t").after(2 * SECOND), event("t").after(SECOND), event("t").after(SECOND)])
        .await;
    world.pass(5 * SECOND);
    assert_eq!(worker.take_ids().await, [ids[1], ids[2], ids[0]]);
}

/// What one worker has in hand, no other gets.
pub async fn an_event_in_hand_is_nobody_elses(world: World) {
    let (one, other) = (world.worker_for("t").await, world.worker_for("t").await);
    world.enqueue(event("t")).await;
    let taken = one.take_one().await;
    other.finds_nothing().await;
    one.finds_nothing().await;
    taken.done().await;
    other.finds_nothing().await;
}

/// Workers that take at the same time share the events, each of which comes to exactly one of them.
pub async fn racing_workers_share_the_events(world: World) {
    const EVENTS: usize = 120;
    let workers = [world.worker_for("t").await, world.worker_for("t").await, world.worker_for("t").await];
    let ids = world.enqueue_all((0..EVENTS).map(|_| event("t"))).await;
    let drain = async |worker: &super::hand_worker::HandWorker| {
        let mut seen = Vec::new();
        loop {
            let taken = worker.take_at_most(7).await;
            if taken.is_empty() {
                return seen;
            }
            for taken in taken {
                seen.push(taken.event.id);
                taken.done().await;
            }
        }
    };
    let (a, b, c) = futures_util::join!(drain(&workers[0]), drain(&workers[1]), drain(&workers[2]));
    let seen: Vec<_> = [a, b, c].concat();
    assert_eq!(seen.len(), EVENTS, "none comes twice");
    assert_eq!(seen.into_iter().collect::<BTreeSet<_>>(), ids.into_iter().collect());
}

/// The event of a worker that died comes to another when the lease is over, not earlier.
pub async fn an_event_whose_worker_died_comes_again_after_the_lease(world: World) {
    let (dying, other) = (world.worker_for("t").await, world.worker_for("t").await);
    let id = world.enqueue(event("t")).await;
    let lost = dying.take_one().await;
    world.pass(ROW_LEASE - MILLISECOND);
    other.finds_nothing().await;
    world.pass(MILLISECOND);
    let taken = other.take_one().await;
    assert_eq!((taken.event.id, taken.claims[0].attempt), (id, 2));
    assert_ne!(taken.receipt, lost.receipt);
}

/// An extended event stays in hand for another lease from then.
pub async fn an_extended_event_stays_in_hand(world: World) {
    let (one, other) = (world.worker_for("t").await, world.worker_for("t").await);
    let id = world.enqueue(event("t")).await;
    let taken = one.take_one().await;
    for _ in 0..4 {
        world.pass(ROW_LEASE / 2);
        one.bus.extend(std::slice::from_ref(&taken.receipt)).await.unwrap();
        world.ledger.renew(&taken.claims[0], ROW_LEASE).await.unwrap();
        other.finds_nothing().await;
        assert_eq!(world.state(id).await, EventState::Processing);
    }
    taken.done().await;
    other.finds_nothing().await;
}

/// Whoever lost an event to another can neither settle nor extend it.
pub async fn a_stale_receipt_is_ignored(world: World) {
    let (slow, other) = (world.worker_for("t").await, world.worker_for("t").await);
    let id = world.enqueue(event("t")).await;
    let stale = slow.take_one().await;
    world.pass(ROW_LEASE);
    let current = other.take_one().await;
    for settlement in [
        Settlement::Done,
        Settlement::Dead { reason: "stale".to_owned() },
        Settlement::Defer { until: world.now() },
    ] {
        stale.settle(settlement).await;
        assert_eq!(world.state(id).await, EventState::Processing);
    }
    world.pass(ROW_LEASE / 2);
    slow.bus.extend(std::slice::from_ref(&stale.receipt)).await.unwrap();
    world.ledger.renew(&current.claims[0], ROW_LEASE).await.unwrap();
    world.pass(ROW_LEASE / 2);
    world.ledger.renew(&current.claims[0], MILLISECOND).await.unwrap();
    world.pass(MILLISECOND);
    assert_eq!(slow.take_ids().await, [id], "the stale extension has not prolonged the lease");
}

/// A batch of settlements may hold stale ones and ones that no bus ever gave out; the others take effect.
pub async fn one_bad_receipt_does_not_fail_its_batch(world: World) {
    let worker = world.worker_for("t").await;
    let ids = world.enqueue_all([event("t"), event("t")]).await;
    let taken = worker.take().await;
    for taken in &taken {
        world.ledger.done(&taken.claims[0]).await.unwrap();
    }
    let nonsense = Receipt { message: "nonsense".into(), token: "nonsense".into() };
    let unknown = Receipt { message: "987654321".into(), token: "nonsense".into() };
    let receipts = [nonsense, taken[0].receipt.clone(), unknown, taken[1].receipt.clone()];
    let batch = receipts.map(|receipt| (receipt, Settlement::Done)).to_vec();
    worker.bus.settle(batch.clone()).await.unwrap();
    worker.bus.settle(batch).await.expect("repeating is safe");
    for id in ids {
        assert_eq!(world.state(id).await, EventState::Done);
    }
}

/// `max` counts handler runs: an event with two handlers comes with one claim when there is room for one, and with
/// the other when there is room again.
pub async fn max_counts_handler_runs(world: World) {
    let worker = world.worker([handler("a", "t"), handler("b", "t")]).await;
    let ids = world.enqueue_all([event("t"), event("t"), event("t")]).await;
    let mut runs = Vec::new();
    while runs.len() < 6 {
        let taken = worker.take_at_most(1).await;
        let claims: Vec<_> = taken.iter().flat_map(|taken| &taken.claims).collect();
        assert_eq!(claims.len(), 1, "one run at a time");
        runs.push((claims[0].event_id, claims[0].handler.to_string()));
        for taken in taken {
            taken.done().await;
        }
    }
    let expected: BTreeSet<_> =
        ids.iter().flat_map(|id| ["a", "b"].map(|handler| (*id, handler.to_owned()))).collect();
    assert_eq!(runs.into_iter().collect::<BTreeSet<_>>(), expected);
    worker.finds_nothing().await;

    world.enqueue_all((0..4).map(|_| event("t"))).await;
    let taken = worker.take_at_most(5).await;
    assert_eq!(taken.iter().map(|taken| taken.claims.len()).sum::<usize>(), 5);
}

/// A delayed event comes at its time, to the millisecond, and the bus foretells it.
pub async fn a_delayed_event_comes_when_it_is_due(world: World) {
    let worker = world.worker_for("t").await;
    let due = world.now().after(60 * SECOND);
    let later = world.enqueue(event("t").at(SystemTime::from(due.after(SECOND)))).await;
    let sooner = world.enqueue(event("t").after(60 * SECOND)).await;
    worker.finds_nothing().await;
    assert_eq!(worker.next_due().await, Some(due));
    world.pass(60 * SECOND - MILLISECOND);
    worker.finds_nothing().await;
    world.pass(MILLISECOND);
    assert_eq!(worker.take_ids().await, [sooner]);
    world.pass(SECOND);
    assert_eq!(worker.take_ids().await, [later]);
}

/// A due time that has passed means at once.
pub async fn an_event_due_in_the_past_comes_at_once(world: World) {
    let worker = world.worker_for("t").await;
    let id = world.enqueue(event("t").at(SystemTime::UNIX_EPOCH)).await;
    assert_eq!(worker.take_ids().await, [id]);
}

/// What is due does not count as what will be: a worker that waits for the next due time must not spin.
pub async fn what_is_due_or_done_is_not_foretold(world: World) {
    let worker = world.worker_for("t").await;
    world.enqueue_all([event("t"), event("nobody.handles.this").after(SECOND)]).await;
    assert_eq!(worker.next_due().await, None);
    worker.take_one().await.done().await;
    assert_eq!(worker.next_due().await, None);
}

/// A worker that waits is woken by an event, and one that comes just before it begins to wait is not missed.
pub async fn enqueueing_wakes_who_waits(world: World) {
    let worker = world.worker_for("t").await;
    settle_down(&worker).await;
    world.enqueue(event("t")).await;
    worker.bus.wake().await;
    worker.take_one().await.done().await;

    settle_down(&worker).await;
    let (bus, waiting) = (worker.bus.clone(), tokio::sync::oneshot::channel::<()>());
    let woken = tokio::spawn(async move {
        waiting.0.send(()).expect("the case listens");
        bus.wake().await;
    });
    waiting.1.await.unwrap();
    world.enqueue(event("t")).await;
    woken.await.unwrap();
}

/// Uses up the wake-ups that are left from before.
async fn settle_down(worker: &super::hand_worker::HandWorker) {
    const QUIET: Duration = Duration::from_millis(30);
    while tokio::time::timeout(QUIET, worker.bus.wake()).await.is_ok() {}
}
