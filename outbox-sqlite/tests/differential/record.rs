//! What must hold of every history, whatever the stores agree on: no two live leases, no second success, and the order
//! of a key.

use std::collections::{BTreeMap, BTreeSet};

use outbox_core::Timestamp;
use uuid::Uuid;

use crate::history::Answer;
use crate::pair::{Outcome, check};
use crate::plan::Ending;
use crate::side::{Delivered, Letter, Number};

/// What has happened, as workers saw it.
#[derive(Debug, Default)]
pub(crate) struct Record {
    /// Claims that nobody has ended.
    open: BTreeMap<(Number, String), Lease>,
    finished: BTreeSet<(Number, String)>,
    /// First successes per handler and key, in order.
    sequence: BTreeMap<(String, String), Vec<Number>>,
    /// The order in which events were written.
    pub(crate) written: Vec<Number>,
    /// Events that were a dead letter at some time: a redrive is out of order.
    dead: BTreeSet<Number>,
    pub(crate) forgotten: BTreeSet<String>,
}

#[derive(Debug, Clone, Copy)]
struct Lease {
    owner: Uuid,
    started_at: Timestamp,
    until: Timestamp,
}

impl Record {
    /// A new event, or one whose every trace was pruned before.
    pub(crate) fn wrote(&mut self, number: Number) {
        self.open.retain(|(event, _), _| *event != number);
        self.finished.retain(|(event, _)| *event != number);
        self.sequence.values_mut().for_each(|events| events.retain(|event| *event != number));
        self.written.retain(|event| *event != number);
        self.written.push(number);
    }

    pub(crate) fn granted(&mut self, delivered: &Delivered, now: Timestamp) -> Outcome {
        for claim in delivered.claims.iter().flatten() {
            let pair = (delivered.number, claim.handler.clone());
            check(!self.finished.contains(&pair), || format!("{pair:?} was finished and runs again"))?;
            let lease = Lease { owner: claim.owner, started_at: claim.started_at, until: claim.lease_until };
            let before = self.open.insert(pair.clone(), lease);
            let is_over = before.is_none_or(|before| before.until <= now);
            check(is_over, || format!("two live leases of {pair:?}: {before:?}, {lease:?}"))?;
        }
        Ok(())
    }

    pub(crate) fn renewed(&mut self, delivered: &Delivered, claim: usize, until: Timestamp) {
        if let Some((pair, granted)) = delivered.claim(claim)
            && let Some(open) = self.open.get_mut(&pair)
            && open.started_at == granted.started_at
        {
            open.until = until;
        }
    }

    /// A mark that was taken, of a claim that was open, ends it.
    pub(crate) fn marked(&mut self, delivered: &Delivered, claim: usize, ending: Ending, answer: Answer) {
        let Some((pair, granted)) = delivered.claim(claim) else { return };
        let is_open = self.open.get(&pair).is_some_and(|open| open.started_at == granted.started_at);
        if answer != Answer::Taken || !is_open {
            return;
        }
        self.open.remove(&pair);
        if ending == Ending::Done {
            if let Some(key) = &delivered.key {
                self.sequence.entry((pair.1.clone(), key.clone())).or_default().push(pair.0);
            }
            self.finished.insert(pair);
        }
    }

    /// A worker gave up on an event as a whole; its claims are over.
    pub(crate) fn given_up(&mut self, number: Number, owner: Uuid) {
        self.open.retain(|(event, _), lease| (*event, lease.owner) != (number, owner));
        self.dead.insert(number);
    }

    pub(crate) fn listed(&mut self, letters: &[Letter]) {
        self.dead.extend(letters.iter().map(|letter| letter.number));
    }

    pub(crate) fn forgot(&mut self, handler: &str) {
        self.forgotten.insert(handler.to_owned());
    }

    /// Per handler and key, the first successes came in the order in which the events were written.
    pub(crate) fn check_order(&self) -> Outcome {
        let place = |number: &Number| self.written.iter().position(|written| written == number);
        for ((handler, key), events) in &self.sequence {
            if self.forgotten.contains(handler) {
                continue;
            }
            let events: Vec<_> = events.iter().filter(|event| !self.dead.contains(event)).collect();
            let in_order = events.is_sorted_by_key(|event| place(event));
            check(in_order, || format!("{handler} ran key {key} in the order {events:?}"))?;
        }
        Ok(())
    }
}
