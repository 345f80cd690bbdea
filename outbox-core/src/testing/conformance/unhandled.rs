//! Types that nobody handles.

use super::world::{SECOND, World, all, event};
use crate::{ClaimState, EventState, Unhandled, WaitReason};

/// They wait by default, and are reported; a worker that is deployed later handles them.
pub async fn a_type_that_nobody_handles_waits_for_a_deploy(world: World) {
    let worker = world.worker_for("t").await;
    let id = world.enqueue(event("unknown")).await;
    worker.finds_nothing().await;
    let report = worker.maintain(Unhandled::Wait).await;
    assert_eq!((report.unhandled_types, report.unhandled_rows), (vec!["unknown".to_owned()], 0));
    let expected = WaitReason::AnyHandler { event_type: "unknown".to_owned() };
    assert_eq!(world.explain(id).await.waits_for, Some(expected));

    world.pass(86_400 * SECOND);
    let deployed = world.worker_for("unknown").await;
    assert_eq!(deployed.work_off().await, [(id, "unknown".to_owned())]);
    assert_eq!(worker.maintain(Unhandled::Wait).await.unhandled_types, [""; 0]);
}

/// They count as done if that is what the setting says. Events of handled types are not touched.
pub async fn a_type_that_nobody_handles_can_be_discarded(world: World) {
    let worker = world.worker_for("t").await;
    let (id, handled) = (world.enqueue(event("unknown")).await, world.enqueue(event("t")).await);
    assert_eq!(worker.maintain(Unhandled::Discard).await.unhandled_rows, 1);
    assert_eq!(world.state(id).await, EventState::Done);
    assert_eq!(world.state(handled).await, EventState::Pending);
}

/// Or they become dead letters, which can be redriven once there is a handler.
pub async fn a_type_that_nobody_handles_can_be_dead_lettered(world: World) {
    let worker = world.worker_for("t").await;
    let id = world.enqueue(event("unknown")).await;
    assert_eq!(worker.maintain(Unhandled::DeadLetter).await.unhandled_rows, 1);
    let dead = world.dead_letters().await;
    assert_eq!((dead.len(), dead[0].event_id, &dead[0].handler), (1, id, &None));
    assert!(!dead[0].reason.is_empty());

    let deployed = world.worker_for("unknown").await;
    deployed.finds_nothing().await;
    assert_eq!(world.admin.retry(&all()).await.unwrap(), 1);
    assert_eq!(deployed.work_off().await, [(id, "unknown".to_owned())]);
    assert_eq!(world.claim_state(id, "unknown").await, Some(ClaimState::Done));
}

/// What is not due yet is left alone, and is found by a worker that is deployed before it is.
pub async fn a_delayed_event_of_a_type_that_nobody_handles_is_not_ended_early(world: World) {
    let worker = world.worker_for("t").await;
    let now = world.enqueue(event("unknown").key("k")).await;
    let later = world.enqueue(event("unknown").key("k").after(60 * SECOND)).await;
    assert_eq!(worker.maintain(Unhandled::Discard).await.unhandled_rows, 1);
    assert_eq!((world.state(now).await, world.state(later).await), (EventState::Done, EventState::Pending));
    let deployed = world.worker_for("unknown").await;
    world.pass(60 * SECOND);
    assert_eq!(deployed.work_off().await, [(later, "unknown".to_owned())]);
}
