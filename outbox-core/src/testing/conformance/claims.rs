//! The ledger: who may run a handler on an event, and whose word counts.

use std::sync::Arc;

use futures_util::future::join_all;
use uuid::Uuid;

use super::world::{LEASE, MAX_ATTEMPTS, MILLISECOND, SECOND, World, event, failed};
use crate::{Claim, ClaimRequest, ClaimState, ClaimToken, EventId, Ledger, LedgerError, Release, Timestamp};

/// Of many workers that ask for a claim at the same time, one gets it, and the others learn until when it is taken.
pub async fn of_racing_claims_one_is_granted(world: World) {
    let id = world.enqueue(event("t")).await;
    let world = &world;
    let answers = join_all((0..16).map(|_| async move { world.claim(Uuid::new_v4(), id, "h").await })).await;
    let granted = answers.iter().filter(|claim| matches!(claim, Claim::Granted(_))).count();
    let held = Claim::Held { until: world.now().after(LEASE) };
    let told = answers.iter().filter(|claim| **claim == held).count();
    assert_eq!((granted, told), (1, 15), "{answers:?}");
}

/// A claim is for one handler and one event: the others of both stay free.
pub async fn claims_of_other_handlers_and_events_are_independent(world: World) {
    let ids = world.enqueue_all([event("t"), event("t")]).await;
    for id in ids {
        for handler in ["h", "i"] {
            assert_eq!(world.granted(id, handler).await.attempt, 1);
        }
    }
}

/// The attempt is counted when the claim is granted, so that a handler that kills its process is counted, too.
pub async fn an_attempt_is_counted_when_it_is_claimed(world: World) {
    let id = world.enqueue(event("t")).await;
    let token = world.granted(id, "h").await;
    let progress = world.progress(id, "h").await;
    assert_eq!((progress.state, progress.attempts), (Some(ClaimState::InProgress), 1));
    assert_eq!((token.attempt, token.lease_until), (1, world.now().after(LEASE)));
}

/// As long as a lease lives, nobody else gets the claim, not even its own process, and asking spends no attempt.
pub async fn a_living_lease_keeps_everybody_out(world: World) {
    let id = world.enqueue(event("t")).await;
    let token = world.granted(id, "h").await;
    world.pass(LEASE - MILLISECOND);
    let held = Claim::Held { until: token.lease_until };
    assert_eq!(world.claim(Uuid::new_v4(), id, "h").await, held);
    assert_eq!(world.claim(token.owner, id, "h").await, held);
    assert_eq!(world.progress(id, "h").await.attempts, 1);
}

/// When a lease has run out, the next who asks takes over with a token of its own, and that counts as an attempt.
pub async fn an_expired_lease_is_taken_over(world: World) {
    let id = world.enqueue(event("t")).await;
    let first = world.granted(id, "h").await;
    world.pass(LEASE);
    let second = world.granted(id, "h").await;
    assert_eq!(second.attempt, 2);
    assert!(second.started_at > first.started_at);
    assert_ne!(second.owner, first.owner);
}

/// Renewal keeps the claim for another lease from now.
pub async fn a_renewed_lease_is_not_taken_over(world: World) {
    let id = world.enqueue(event("t")).await;
    let token = world.granted(id, "h").await;
    for _ in 0..5 {
        world.pass(LEASE / 2);
        world.ledger.renew(&token, LEASE).await.unwrap();
    }
    world.pass(LEASE - MILLISECOND);
    assert!(matches!(world.claim(Uuid::new_v4(), id, "h").await, Claim::Held { .. }));
    world.pass(MILLISECOND);
    assert_eq!(world.granted(id, "h").await.attempt, 2);
}

/// An expired lease that nobody took over is still its owner's: it may renew and finish.
pub async fn an_expired_claim_that_nobody_took_is_still_ours(world: World) {
    let id = world.enqueue(event("t")).await;
    let token = world.granted(id, "h").await;
    world.pass(2 * LEASE);
    world.ledger.renew(&token, LEASE).await.unwrap();
    world.ledger.done(&token).await.unwrap();
    assert_eq!(world.claim_state(id, "h").await, Some(ClaimState::Done));
}

/// A token is unique: `started_at` grows with every claim of a pair, even within one millisecond, and even if the clock
/// was set back meanwhile.
pub async fn started_at_grows_whatever_the_clock_does(world: World) {
    let id = world.enqueue(event("t")).await;
    let mut last = world.granted(id, "h").await;
    for step in 0..4 {
        let due = Timestamp::from_millis(0);
        world.ledger.release(&last, &Release { due, error: None, refund: true }).await.unwrap();
        if step == 2 {
            world.clock.set(world.now().before(3_600 * SECOND));
        }
        let next = world.granted(id, "h").await;
        assert!(
            next.started_at > last.started_at,
            "step {step}: {} after {}",
            next.started_at,
            last.started_at
        );
        last = next;
    }
}

/// After a takeover the former owner can neither renew nor finish, release or bury: it is told that its lease is lost,
/// and the new claim stays as it is.
pub async fn a_stale_owner_changes_nothing(world: World) {
    let id = world.enqueue(event("t")).await;
    let stale = world.granted(id, "h").await;
    world.pass(LEASE);
    let current = world.granted(id, "h").await;
    let before = world.progress(id, "h").await;
    assert_lease_lost(&world.ledger, &stale, world.now()).await;
    assert_eq!(world.progress(id, "h").await, before);
    world.ledger.done(&current).await.unwrap();

    let before = world.progress(id, "h").await;
    assert_lease_lost(&world.ledger, &stale, world.now()).await;
    assert_eq!(world.progress(id, "h").await, before, "nor after the new owner has finished");
}

/// A worker that took over from itself has two tokens, of which only the second counts.
pub async fn an_earlier_claim_of_the_same_worker_is_stale(world: World) {
    let id = world.enqueue(event("t")).await;
    let stale = world.granted(id, "h").await;
    world.pass(LEASE);
    let Claim::Granted(current) = world.claim(stale.owner, id, "h").await else {
        panic!("the lease is over");
    };
    let before = world.progress(id, "h").await;
    assert_lease_lost(&world.ledger, &stale, world.now()).await;
    assert_eq!(world.progress(id, "h").await, before);
    world.ledger.done(&current).await.unwrap();
}

/// Nor can somebody with a token that was never granted.
pub async fn a_claim_that_does_not_exist_is_lost(world: World) {
    let token = ClaimToken {
        event_id: EventId::new(),
        handler: Arc::from("h"),
        owner: Uuid::new_v4(),
        started_at: world.now(),
        attempt: 1,
        lease_until: world.now().after(LEASE),
    };
    assert_lease_lost(&world.ledger, &token, world.now()).await;
    assert_eq!(world.admin.explain(token.event_id).await.unwrap(), None);
}

/// Finishing is for good: the claim is never granted again.
pub async fn done_is_final(world: World) {
    let id = world.enqueue(event("t")).await;
    let token = world.granted(id, "h").await;
    world.ledger.done(&token).await.unwrap();
    world.pass(1_000 * LEASE);
    assert_eq!(world.claim(Uuid::new_v4(), id, "h").await, Claim::Done);
    assert_eq!(world.claim(token.owner, id, "h").await, Claim::Done);
}

/// A call whose answer was lost may be repeated: `done` again is no error, and what comes after it with the same token
/// changes nothing.
pub async fn after_done_its_own_token_may_repeat_itself(world: World) {
    let id = world.enqueue(event("t")).await;
    let token = world.granted(id, "h").await;
    world.ledger.done(&token).await.unwrap();
    let before = world.progress(id, "h").await;
    world.pass(SECOND);
    world.ledger.done(&token).await.unwrap();
    world.ledger.release(&token, &failed(world.now(), "late")).await.unwrap();
    world.ledger.bury(&token, "late").await.unwrap();
    assert_eq!(world.progress(id, "h").await, before);
}

/// Giving back twice takes nothing back twice, whatever the second call answers.
pub async fn a_repeated_release_changes_nothing(world: World) {
    let id = world.enqueue(event("t")).await;
    let token = world.granted(id, "h").await;
    let release = Release { due: world.now().after(SECOND), error: None, refund: true };
    world.ledger.release(&token, &release).await.unwrap();
    let before = world.progress(id, "h").await;
    let _ = world.ledger.release(&token, &release).await;
    let _ = world.ledger.bury(&token, "late").await;
    assert_eq!(world.progress(id, "h").await, before);
}

/// A claim that was given back is held until its due time, to the millisecond, and then granted as the next attempt.
pub async fn a_released_claim_is_held_until_it_is_due(world: World) {
    let id = world.enqueue(event("t")).await;
    let token = world.granted(id, "h").await;
    let due = world.now().after(5 * SECOND);
    world.ledger.release(&token, &failed(due, "no network")).await.unwrap();
    let progress = world.progress(id, "h").await;
    assert_eq!((progress.state, progress.lease_until), (Some(ClaimState::Released), Some(due)));
    assert_eq!(progress.last_error.as_deref(), Some("no network"));

    world.pass(5 * SECOND - MILLISECOND);
    assert_eq!(world.claim(Uuid::new_v4(), id, "h").await, Claim::Held { until: due });
    world.pass(MILLISECOND);
    assert_eq!(world.granted(id, "h").await.attempt, 2);
}

/// A handler that never started gets its attempt back.
pub async fn a_refunded_attempt_does_not_count(world: World) {
    let id = world.enqueue(event("t")).await;
    for _ in 0..2 * MAX_ATTEMPTS {
        let token = world.granted(id, "h").await;
        assert_eq!(token.attempt, 1);
        let release = Release { due: world.now(), error: None, refund: true };
        world.ledger.release(&token, &release).await.unwrap();
    }
    assert_eq!(world.progress(id, "h").await.attempts, 0);
}

/// Giving up is for good, too, until an operator redrives.
pub async fn dead_is_final(world: World) {
    let id = world.enqueue(event("t")).await;
    let token = world.granted(id, "h").await;
    world.ledger.bury(&token, "poster does not exist").await.unwrap();
    world.pass(1_000 * LEASE);
    assert_eq!(world.claim(Uuid::new_v4(), id, "h").await, Claim::Dead);
    let progress = world.progress(id, "h").await;
    assert_eq!(progress.last_error.as_deref(), Some("poster does not exist"));
}

/// A handler whose workers all died ends as a dead letter, too, once its attempts are used up.
pub async fn a_handler_that_kills_its_worker_every_time_gives_up(world: World) {
    let id = world.enqueue(event("t")).await;
    for attempt in 1..=MAX_ATTEMPTS {
        assert_eq!(world.granted(id, "h").await.attempt, attempt);
        world.pass(LEASE);
    }
    assert_eq!(world.claim(Uuid::new_v4(), id, "h").await, Claim::Dead);
    let progress = world.progress(id, "h").await;
    assert_eq!((progress.state, progress.attempts), (Some(ClaimState::Dead), MAX_ATTEMPTS));
    let reason = progress.last_error.unwrap_or_default();
    assert!(reason.contains("worker lost"), "{reason}");
}

/// Whoever was declared lost and comes back is told so, and changes nothing.
pub async fn the_lost_worker_comes_back_too_late(world: World) {
    let id = world.enqueue(event("t")).await;
    let mut last = world.granted(id, "h").await;
    world.pass(LEASE);
    for _ in 1..MAX_ATTEMPTS {
        last = world.granted(id, "h").await;
        world.pass(LEASE);
    }
    assert_eq!(world.claim(Uuid::new_v4(), id, "h").await, Claim::Dead);
    let before = world.progress(id, "h").await;
    let answers = [
        world.ledger.renew(&last, LEASE).await,
        world.ledger.done(&last).await,
        world.ledger.release(&last, &failed(world.now(), "late")).await,
    ];
    assert!(answers.iter().all(|answer| matches!(answer, Err(LedgerError::LeaseLost))), "{answers:?}");
    // It is dead already, which is all that this one wants.
    let _ = world.ledger.bury(&last, "late").await;
    assert_eq!(world.progress(id, "h").await, before);
}

/// A deploy that lowers the number of attempts gives up what has used them, with the reason of its last failure,
/// instead of trying it again.
pub async fn fewer_attempts_than_were_spent_are_used_up(world: World) {
    let id = world.enqueue(event("t")).await;
    for _ in 0..2 {
        let token = world.granted(id, "h").await;
        world.ledger.release(&token, &failed(world.now(), "no network")).await.unwrap();
    }
    let request = ClaimRequest {
        event_id: id,
        handler: Arc::from("h"),
        owner: Uuid::new_v4(),
        lease: LEASE,
        max_attempts: 2,
    };
    assert_eq!(world.ledger.claim(&request).await.unwrap(), Claim::Dead);
    let progress = world.progress(id, "h").await;
    assert_eq!((progress.state, progress.attempts), (Some(ClaimState::Dead), 2));
    assert_eq!(progress.last_error.as_deref(), Some("no network"));
}

async fn assert_lease_lost(ledger: &Arc<dyn Ledger>, token: &ClaimToken, now: Timestamp) {
    let answers = [
        ("renew", ledger.renew(token, LEASE).await),
        ("done", ledger.done(token).await),
        ("release", ledger.release(token, &failed(now, "stale")).await),
        ("bury", ledger.bury(token, "stale").await),
    ];
    for (call, answer) in answers {
        assert!(matches!(answer, Err(LedgerError::LeaseLost)), "{call} with a stale token: {answer:?}");
    }
}
