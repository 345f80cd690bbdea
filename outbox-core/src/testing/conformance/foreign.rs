//! Events from programs that write the table without knowing the framework.

use super::ROW_LEASE;
use super::world::{World, event};
use crate::{ClaimState, EventState};

/// A row of which only type and payload are given is delivered like any other, as version 1, payload untouched.
pub async fn a_foreign_row_is_delivered(world: World) {
    let worker = world.worker_for("t").await;
    world.backend().insert_foreign("t", "{ \"a\":1 }").await;
    let taken = worker.take_one().await;
    assert_eq!((&*taken.event.payload, taken.event.version), ("{ \"a\":1 }", 1));
    assert_eq!((&taken.event.key, taken.event.headers.len()), (&None, 0));
    let id = taken.event.id;
    assert!(!id.as_uuid().is_nil());
    taken.done().await;
    assert_eq!(world.state(id).await, EventState::Done);
}

/// It gets an id when it is first claimed and keeps it, so that from then on the ledger guards it.
pub async fn a_foreign_row_keeps_the_id_it_gets(world: World) {
    let (one, other) = (world.worker_for("t").await, world.worker_for("t").await);
    world.backend().insert_foreign("t", "{}").await;
    let first = one.take_one().await;
    let id = first.event.id;
    first.fail(world.now()).await;
    let second = other.take_one().await;
    assert_eq!((second.event.id, second.claims[0].attempt), (id, 2));
    world.pass(ROW_LEASE);
    let third = one.take_one().await;
    assert_eq!((third.event.id, third.claims[0].attempt), (id, 3));
    third.done().await;
    assert_eq!(world.claim_state(id, "t").await, Some(ClaimState::Done));
}

/// Each foreign row is an event of its own, even with equal contents.
pub async fn equal_foreign_rows_are_different_events(world: World) {
    let worker = world.worker_for("t").await;
    for _ in 0..3 {
        world.backend().insert_foreign("t", "{}").await;
    }
    let mut ids = worker.take_ids().await;
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), 3);
}

/// A payload that is not even JSON fails no one but its own handler: it is delivered as it is, with the rest.
pub async fn a_payload_that_is_not_json_does_not_fail_its_batch(world: World) {
    let worker = world.worker_for("t").await;
    let before = world.enqueue(event("t")).await;
    world.backend().insert_foreign("t", "<not json>").await;
    let after = world.enqueue(event("t")).await;
    let taken = worker.take().await;
    assert_eq!(taken.len(), 3);
    assert_eq!(
        (taken[0].event.id, &*taken[1].event.payload, taken[2].event.id),
        (before, "<not json>", after)
    );
}
