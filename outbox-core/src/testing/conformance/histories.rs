//! Random histories: many workers, every kind of step in any order, and promises that must hold all the while.
//!
//! Each history has a seed, which a failure names, and takes the same steps each time. Only what a worker does with
//! what it was given is random; which of the due events it is given is the backend's own choice.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::hand_worker::{HandWorker, Taken};
use super::world::{LEASE, MAX_ATTEMPTS, SECOND, World, event, failed, handler};
use crate::{
    ClaimState, ClaimToken, EventId, EventState, LedgerError, NewEvent, Release, Settlement, Timestamp,
};

/// Whatever workers do with their events, and whenever they die: a pair of event and handler is in at most one living
/// claim, is never granted after it has finished, gets its attempts counted, and comes after the earlier events of its
/// key; and when everybody works on, everything comes to its end.
pub async fn any_history_keeps_the_promises(world: World) {
    for seed in 1..=4 {
        history(&world, seed).await;
    }
}

/// A generator of reproducible choices (xorshift64*).
struct Dice(u64);

impl Dice {
    fn throw(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % sides
    }
}

/// What the promises are checked against.
#[derive(Default)]
struct Record {
    seed: u64,
    events: Vec<(EventId, String, Option<String>)>,
    pairs: BTreeMap<(EventId, Arc<str>), Pair>,
}

#[derive(Default)]
struct Pair {
    attempts: u32,
    /// The end of the lease of the claim that is not ended, if there is one.
    lease_until: Option<Timestamp>,
    finished: bool,
    current: Option<ClaimToken>,
}

async fn history(world: &World, seed: u64) {
    const STEPS: usize = 150;
    // Types of its own, so that the histories of one store do not meet.
    let named = |name: &str, pattern: &str| handler(name, &format!("s{seed}.{pattern}"));
    let both = || vec![named("a", "x"), named("b", "*")];
    let workers =
        [world.worker(both()).await, world.worker(both()).await, world.worker(vec![named("c", "y")]).await];
    let (mut dice, mut record) = (Dice(seed), Record { seed, ..Record::default() });
    let mut in_hand: Vec<Taken> = Vec::new();
    for _ in 0..STEPS {
        match dice.throw(10) {
            0..=2 => record.enqueue(world, &mut dice).await,
            3..=5 => in_hand.extend(record.take(world, &workers[dice.throw(3)], 1 + dice.throw(4)).await),
            6..=8 if !in_hand.is_empty() => {
                let taken = in_hand.swap_remove(dice.throw(in_hand.len()));
                record.end(world, taken, &mut dice).await;
            }
            _ => world.pass(SECOND * [1, 5, 20, 61][dice.throw(4)]),
        }
    }
    record.work_off(world, &workers).await;
    record.check_the_end(world).await;
}

impl Record {
    async fn enqueue(&mut self, world: &World, dice: &mut Dice) {
        let event_type = format!("s{}.{}", self.seed, ["x", "y"][dice.throw(2)]);
        let key = [None, Some("k"), Some("l")][dice.throw(3)].map(|key| format!("{key}{}", self.seed));
        let mut new: NewEvent = event(&event_type);
        if let Some(key) = &key {
            new = new.key(key);
        }
        let id = world.enqueue(new).await;
        self.events.push((id, event_type, key));
    }

    /// Takes events, and checks what is promised of every claim that is granted.
    async fn take(&mut self, world: &World, worker: &HandWorker, runs: usize) -> Vec<Taken> {
        let taken = worker.take_at_most(runs).await;
        self.note_lost_workers(world).await;
        for token in taken.iter().flat_map(|taken| &taken.claims) {
            self.granted(world.now(), token);
        }
        taken
    }

    fn granted(&mut self, now: Timestamp, token: &ClaimToken) {
        let (seed, handler) = (self.seed, &token.handler);
        let place = self.events.iter().position(|(id, ..)| *id == token.event_id);
        let place = place.unwrap_or_else(|| panic!("seed {seed}: an event of its own types"));
        let key = &self.events[place].2;
        for (earlier, event_type, _) in
            self.events[..place].iter().filter(|(_, _, k)| key.is_some() && k == key)
        {
            let pair = self.pairs.get(&(*earlier, Arc::clone(handler)));
            let is_through = !wants(handler, event_type) || pair.is_some_and(|pair| pair.finished);
            assert!(is_through, "seed {seed}: {handler} has not finished an earlier event of {key:?}");
        }
        let pair = self.pairs.entry((token.event_id, Arc::clone(handler))).or_default();
        assert!(!pair.finished, "seed {seed}: {handler} had finished {}", token.event_id);
        let alive = pair.lease_until.filter(|until| *until > now);
        assert_eq!(alive, None, "seed {seed}: a living claim of {handler} was granted again");
        pair.attempts += 1;
        assert_eq!(token.attempt, pair.attempts, "seed {seed}: attempts of {handler}");
        let grows = pair.current.as_ref().is_none_or(|former| token.started_at > former.started_at);
        assert!(grows, "seed {seed}: `started_at` of {handler} grows");
        pair.lease_until = Some(now.after(LEASE));
        pair.current = Some(token.clone());
    }

    /// Ends each claim of a taken event in some way, or leaves it to its lease, and settles it, or does not.
    async fn end(&mut self, world: &World, taken: Taken, dice: &mut Dice) {
        let mut due = world.now();
        for token in &taken.claims {
            // As workers do: the last attempt ends for good, and one whose lease is over is not taken back.
            let failure = if token.attempt == MAX_ATTEMPTS { 4 } else { 2 };
            let unstarted = if token.lease_until > world.now() { 3 } else { failure };
            let way = [0, 1, failure, unstarted, 4, 5][dice.throw(6)];
            let delay = SECOND * [0, 5, 30][dice.throw(3)];
            due = world.now().after(delay);
            let refund = Release { due, error: None, refund: true };
            let ended = match way {
                0 | 1 => world.ledger.done(token).await,
                2 => world.ledger.release(token, &failed(due, "some failure")).await,
                3 => world.ledger.release(token, &refund).await,
                4 => world.ledger.bury(token, "hopeless").await,
                // Its worker dies.
                _ => continue,
            };
            self.ended(world.now(), token, way, &ended);
        }
        match dice.throw(4) {
            0 => {}
            1 => taken.settle(Settlement::Retry { at: due, error: "some failure".to_owned() }).await,
            _ => taken.settle(Settlement::Done).await,
        }
    }

    /// Whoever was overtaken is told so, and so may be whose lease is over; anybody else's word counts.
    fn ended(&mut self, now: Timestamp, token: &ClaimToken, way: usize, answer: &Result<(), LedgerError>) {
        let seed = self.seed;
        let pair = self.pairs.get_mut(&(token.event_id, Arc::clone(&token.handler))).expect("it was granted");
        let is_current = pair.current.as_ref() == Some(token);
        if answer.is_err() {
            let may_be_lost = !is_current || pair.lease_until.is_none_or(|until| until <= now);
            assert!(may_be_lost, "seed {seed}: {answer:?} for a living claim of {}", token.handler);
            return;
        }
        assert!(is_current, "seed {seed}: a stale token of {} counts", token.handler);
        pair.lease_until = None;
        pair.finished = matches!(way, 0 | 1 | 4);
        pair.attempts -= u32::from(way == 3);
    }

    /// Lets everybody work until nothing is left, as time passes.
    async fn work_off(&mut self, world: &World, workers: &[HandWorker]) {
        for _ in 0..200 {
            for worker in workers {
                for taken in self.take(world, worker, 100).await {
                    for token in &taken.claims {
                        self.ended(world.now(), token, 0, &world.ledger.done(token).await);
                    }
                    taken.settle(Settlement::Done).await;
                }
            }
            world.pass(SECOND * 30);
        }
    }

    /// Claims that the store gave up since their last worker was lost are finished, too.
    async fn note_lost_workers(&mut self, world: &World) {
        let now = world.now();
        for ((event_id, handler), pair) in &mut self.pairs {
            let is_over = pair.lease_until.is_some_and(|until| until <= now);
            if !pair.finished && is_over && pair.attempts == MAX_ATTEMPTS {
                pair.finished = world.claim_state(*event_id, handler).await == Some(ClaimState::Dead);
            }
        }
    }

    async fn check_the_end(&self, world: &World) {
        for (id, event_type, _) in &self.events {
            let explanation = world.explain(*id).await;
            let states: Vec<_> = explanation.handlers.iter().filter_map(|handler| handler.state).collect();
            let wanted = ["a", "b", "c"].iter().filter(|handler| wants(handler, event_type)).count();
            assert_eq!(states.len(), wanted, "seed {}: {explanation}", self.seed);
            let is_dead = states.contains(&ClaimState::Dead);
            let expected = if is_dead { EventState::DeadLettered } else { EventState::Done };
            assert_eq!(explanation.state, Some(expected), "seed {}: {explanation}", self.seed);
            assert!(states.iter().all(|state| matches!(state, ClaimState::Done | ClaimState::Dead)));
        }
    }
}

/// Which handler takes which type.
fn wants(handler: &str, event_type: &str) -> bool {
    match handler {
        "a" => event_type.ends_with(".x"),
        "b" => true,
        _ => event_type.ends_with(".y"),
    }
}
