//! What is deleted when its time is over, and what must not be.

use super::world::{MILLISECOND, SECOND, World, all, event, handler};
use crate::{Claim, EventId, EventState, OnDead, Pruned, Retention, Settlement, SubscribedHandler};
use uuid::Uuid;

const KEPT: Retention = Retention { done: SECOND_10, dead: SECOND_20, ledger: SECOND_40 };
const SECOND_10: std::time::Duration = std::time::Duration::from_secs(10);
const SECOND_20: std::time::Duration = std::time::Duration::from_secs(20);
const SECOND_40: std::time::Duration = std::time::Duration::from_secs(40);

/// Done events go when their time is over, not before, and their ledger rows when theirs is.
pub async fn finished_things_go_when_their_time_is_over(world: World) {
    let worker = world.worker_for("t").await;
    let id = world.enqueue(event("t")).await;
    worker.take_one().await.done().await;
    assert_pruned(&world, KEPT.done - MILLISECOND, (0, 0)).await;
    assert_pruned(&world, MILLISECOND, (1, 0)).await;
    let explanation = world.explain(id).await;
    assert_eq!((explanation.state, explanation.handlers.len()), (None, 1), "the ledger still knows it");
    assert_eq!(world.claim(Uuid::new_v4(), id, "t").await, Claim::Done);
    assert_pruned(&world, KEPT.ledger - KEPT.done - MILLISECOND, (0, 0)).await;
    assert_pruned(&world, MILLISECOND, (0, 1)).await;
    assert_eq!(world.admin.explain(id).await.unwrap(), None);
}

/// Dead letters have a time of their own, and keep their ledger rows as long as they are there.
pub async fn dead_letters_keep_their_ledger_rows(world: World) {
    let worker = world.worker([handler("a", "t"), handler("b", "t")]).await;
    world.enqueue(event("t")).await;
    let taken = worker.take_one().await;
    world.ledger.done(taken.claim("a")).await.unwrap();
    world.ledger.bury(taken.claim("b"), "hopeless").await.unwrap();
    taken.settle(crate::Settlement::Done).await;
    let ledger_first = Retention { ledger: SECOND, ..KEPT };
    world.pass(KEPT.dead - MILLISECOND);
    assert_eq!(world.admin.prune(&ledger_first).await.unwrap(), Pruned { events: 0, claims: 0 });
    assert_eq!(world.dead_letters().await.len(), 1);
    world.pass(MILLISECOND);
    assert_eq!(world.admin.prune(&ledger_first).await.unwrap(), Pruned { events: 1, claims: 2 });
    assert_eq!(world.dead_letters().await, []);
}

/// Nothing that is unfinished goes, however old it is: waiting, delayed, running, between retries, waiting for a handler
/// of another binary or for any handler at all; nor the ledger rows of such events.
pub async fn nothing_unfinished_is_ever_pruned(world: World) {
    let worker = world.worker([handler("a", "t"), handler("b", "t"), handler("c", "u")]).await;
    let _other = world.worker([handler("elsewhere", "u")]).await;
    let running = world.enqueue(event("t")).await;
    let running_taken = worker.take_one().await;
    world.ledger.done(running_taken.claim("a")).await.unwrap();

    let retried = world.enqueue(event("t")).await;
    let taken = worker.take_one().await;
    world.ledger.done(taken.claim("a")).await.unwrap();
    let due = world.now().after(86_400 * SECOND);
    world.ledger.release(taken.claim("b"), &super::world::failed(due, "later")).await.unwrap();
    taken.settle(crate::Settlement::Retry { at: due, error: "later".to_owned() }).await;

    let elsewhere = world.enqueue(event("u")).await;
    worker.take_one().await.done().await;
    let unhandled = world.enqueue(event("unhandled")).await;
    let delayed = world.enqueue(event("t").after(86_400 * SECOND)).await;
    let waiting = world.enqueue(event("t")).await;

    world.pass(86_400 * SECOND / 2);
    let nothing = Retention { done: MILLISECOND, dead: MILLISECOND, ledger: MILLISECOND };
    assert_eq!(world.admin.prune(&nothing).await.unwrap(), Pruned { events: 0, claims: 0 });
    for id in [running, retried, elsewhere, unhandled, delayed, waiting] {
        assert!(world.explain(id).await.state.is_some(), "{id} is there");
    }
    world.ledger.done(running_taken.claim("b")).await.expect("it still runs");
    running_taken.settle(crate::Settlement::Done).await;
    assert_eq!(world.state(running).await, EventState::Done);
    let kept: Vec<EventId> = [retried, elsewhere].into();
    for id in kept {
        let begun = world.explain(id).await.handlers.into_iter().filter(|handler| handler.state.is_some());
        assert!(begun.count() >= 1, "{id} keeps its ledger rows");
    }
}

/// With an event that was given up as a whole goes what its handlers had left to do.
pub async fn pruning_leaves_no_claim_of_an_event_that_is_gone(world: World) {
    let worker = world.worker_for("t").await;
    let id = world.enqueue(event("t")).await;
    worker.take_one().await.settle(Settlement::Dead { reason: "refused".to_owned() }).await;
    world.pass(KEPT.dead);
    assert_eq!(world.admin.prune(&KEPT).await.unwrap(), Pruned { events: 1, claims: 1 });
    assert_eq!(world.admin.explain(id).await.unwrap(), None);
}

/// A dead letter that is gone blocks its key no more.
pub async fn a_pruned_dead_letter_lets_its_key_go_on(world: World) {
    let blocking = SubscribedHandler { on_dead: OnDead::Block, ..handler("t", "t") };
    let worker = world.worker([blocking]).await;
    let ids = world.enqueue_all([event("t").key("k"), event("t").key("k")]).await;
    worker.bury_all("hopeless").await;
    worker.finds_nothing().await;
    world.pass(KEPT.dead);
    assert_eq!(world.admin.prune(&KEPT).await.unwrap().events, 1);
    assert_eq!(worker.work_off().await, [(ids[1], "t".to_owned())]);
}

/// Upkeep prunes as well, and says how much.
pub async fn upkeep_prunes(world: World) {
    let worker = world.worker_for("t").await;
    world.enqueue_all((0..3).map(|_| event("t"))).await;
    worker.work_off().await;
    let retention = Retention { ledger: SECOND_20, ..KEPT };
    world.pass(SECOND_20);
    let upkeep = crate::Upkeep { unhandled: crate::Unhandled::Wait, retention };
    let (mut events, mut claims) = (0, 0);
    loop {
        let report = worker.bus.maintain(&upkeep).await.unwrap();
        events += report.pruned_events;
        claims += report.pruned_claims;
        if !report.more {
            break;
        }
    }
    assert_eq!((events, claims), (3, 3));
    assert_eq!(world.admin.discard(&all()).await.unwrap(), 0);
}

async fn assert_pruned(world: &World, after: std::time::Duration, (events, claims): (u64, u64)) {
    world.pass(after);
    assert_eq!(world.admin.prune(&KEPT).await.unwrap(), Pruned { events, claims });
}
