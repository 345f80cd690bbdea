//! What an operator may ask of the store, and do to it.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;

use super::row::Row;
use super::store::{Store, Tables};
use crate::{
    Admin, ClaimState, DeadLetter, DeadLetterFilter, EventId, EventState, Explanation, ListedHandler, Pruned,
    Retention, Status, StoreError, Timestamp, TypeCount, WaitReason, Waiting,
};

/// Administration of a [`MemoryOutbox`](super::MemoryOutbox).
#[derive(Debug, Clone)]
pub struct MemoryAdmin {
    store: Arc<Store>,
}

impl MemoryAdmin {
    pub(super) fn of(store: &Arc<Store>) -> Self {
        Self { store: Arc::clone(store) }
    }

    fn read<T>(&self, read: impl FnOnce(&Tables, Timestamp) -> T) -> Result<T, StoreError> {
        let tables = self.store.tables();
        Ok(read(&tables, tables.now()))
    }

    /// Changes every dead letter that fits, and counts them.
    fn change_dead(
        &self,
        filter: &DeadLetterFilter,
        change: impl Fn(&mut Tables, u64, &DeadLetter, Timestamp),
    ) -> Result<u64, StoreError> {
        Ok(self.store.change(|tables, now| {
            let dead = tables.dead_letters(filter, now);
            for (number, letter) in &dead {
                change(tables, *number, letter, now);
            }
            dead.len() as u64
        }))
    }
}

#[async_trait]
impl Admin for MemoryAdmin {
    async fn status(&self) -> Result<Status, StoreError> {
        self.read(Tables::status)
    }

    async fn dead_letters(
        &self,
        filter: &DeadLetterFilter,
        limit: usize,
    ) -> Result<Vec<DeadLetter>, StoreError> {
        self.read(|tables, now| {
            tables.dead_letters(filter, now).into_iter().map(|(_, letter)| letter).take(limit).collect()
        })
    }

    async fn retry(&self, filter: &DeadLetterFilter) -> Result<u64, StoreError> {
        self.change_dead(filter, Tables::redrive)
    }

    async fn discard(&self, filter: &DeadLetterFilter) -> Result<u64, StoreError> {
        self.change_dead(filter, Tables::discard)
    }

    async fn prune(&self, retention: &Retention) -> Result<Pruned, StoreError> {
        Ok(self.store.change(|tables, now| tables.prune(retention, now)))
    }

    async fn explain(&self, event_id: EventId) -> Result<Option<Explanation>, StoreError> {
        self.read(|tables, now| tables.explain(event_id, now))
    }

    async fn handlers(&self) -> Result<Vec<ListedHandler>, StoreError> {
        self.read(|tables, _| {
            let listed = tables.listed.iter().map(|((event_type, handler), seen)| ListedHandler {
                event_type: event_type.to_string(),
                handler: handler.to_string(),
                first_seen: seen.first,
                last_seen: seen.last,
            });
            listed.collect()
        })
    }

    async fn forget_handler(&self, name: &str) -> Result<u64, StoreError> {
        Ok(self.store.change(|tables, now| tables.forget_handler(name, now)))
    }
}

impl Tables {
    fn status(&self, now: Timestamp) -> Status {
        let mut counts: BTreeMap<(String, EventState), (u64, Timestamp)> = BTreeMap::new();
        let mut waiting: BTreeMap<WaitReason, u64> = BTreeMap::new();
        for (number, row) in &self.queue {
            let created = row.envelope.occurred_at;
            let count = counts.entry((row.envelope.event_type.clone(), row.state)).or_insert((0, created));
            *count = (count.0 + 1, count.1.min(created));
            let mut reasons = self.reasons(*number, row);
            reasons.extend(self.overdue_for(*number, row, now));
            if reasons.is_empty() && row.is_waiting() && row.due > now {
                reasons.push(WaitReason::DueTime);
            }
            for reason in reasons {
                *waiting.entry(reason).or_default() += 1;
            }
        }
        let count_of = |((event_type, state), (events, oldest))| TypeCount {
            event_type,
            state,
            events,
            oldest: Some(oldest),
        };
        let is_due = |row: &&Row| !row.is_waiting() || self.available_at(row) <= now;
        let due = self.queue.values().filter(|row| !row.is_finished()).filter(is_due);
        Status {
            counts: counts.into_iter().map(count_of).collect(),
            dead_letters: self.dead_letters(&DeadLetterFilter::default(), now).len() as u64,
            oldest: due.map(|row| row.envelope.occurred_at).min(),
            waiting: waiting.into_iter().map(|(reason, events)| Waiting { reason, events }).collect(),
        }
    }

    /// The dead letters that fit, with the numbers of their rows, oldest first.
    fn dead_letters(&self, filter: &DeadLetterFilter, now: Timestamp) -> Vec<(u64, DeadLetter)> {
        let mut found: Vec<_> = self
            .queue
            .iter()
            .flat_map(|(number, row)| self.dead_letters_of(row).into_iter().map(|letter| (*number, letter)))
            .filter(|(_, letter)| fits(filter, letter, now))
            .collect();
        found.sort_by_key(|(number, letter)| (letter.died_at, *number));
        found
    }

    /// One per handler that gave up; one for the event itself if it was given up as a whole.
    fn dead_letters_of(&self, row: &Row) -> Vec<DeadLetter> {
        let Some(event_id) = row.event_id else { return Vec::new() };
        let letter =
            |handler: Option<&str>, attempts, reason: &Option<String>, died_at: Option<_>| DeadLetter {
                event_id,
                event_type: row.envelope.event_type.clone(),
                key: row.envelope.key.clone(),
                handler: handler.map(str::to_owned),
                attempts,
                reason: reason.clone().unwrap_or_default(),
                died_at: died_at.unwrap_or(row.envelope.occurred_at),
                payload: row.envelope.payload.clone(),
            };
        let mut letters: Vec<_> = self
            .dead_handlers(row)
            .map(|(name, claim)| letter(Some(name), claim.attempts, &claim.last_error, claim.processed_at))
            .collect();
        if row.state == EventState::DeadLettered && letters.is_empty() {
            letters.push(letter(None, row.attempts, &row.last_error, row.finished_at));
        }
        letters
    }

    /// Lets a dead handler run again with all of its attempts, or a dead event be delivered again.
    fn redrive(&mut self, number: u64, letter: &DeadLetter, now: Timestamp) {
        if let Some(handler) = &letter.handler {
            let claim = self.claims.get_mut(letter.event_id, handler).expect("dead letters have a row");
            claim.state = ClaimState::Released;
            claim.lease_until = now;
            claim.attempts = 0;
            claim.processed_at = None;
        }
        let row = self.queue.get_mut(&number).expect("dead letters have a row");
        if row.state == EventState::DeadLettered {
            row.due = row.due.min(now);
            row.attempts = 0;
            row.give_back();
        }
    }

    /// Ends a dead letter: to the ledger the handler has finished, so that the event runs nowhere even if it is
    /// delivered again. The row goes when no dead letter is left on it.
    fn discard(&mut self, number: u64, letter: &DeadLetter, now: Timestamp) {
        if let Some(handler) = &letter.handler {
            let claim = self.claims.get_mut(letter.event_id, handler).expect("dead letters have a row");
            claim.discard(now);
        }
        let row = &self.queue[&number];
        if row.state == EventState::DeadLettered && self.dead_handlers(row).next().is_none() {
            self.queue.remove(&number);
            self.claims.discard_rest(letter.event_id, now);
        }
    }

    fn forget_handler(&mut self, name: &str, now: Timestamp) -> u64 {
        let waiting: Vec<u64> = self
            .queue
            .iter()
            .filter(|(_, row)| !row.is_finished() && !self.has_finished(row, name))
            .filter(|(_, row)| {
                self.listed_for(&row.envelope.event_type).iter().any(|(listed, _)| **listed == *name)
            })
            .map(|(number, _)| *number)
            .collect();
        self.listed.retain(|(_, handler), _| **handler != *name);
        self.claims.delete(|_, handler, claim| handler == name && claim.state == ClaimState::Released);
        for number in &waiting {
            if self.queue[number].is_waiting() {
                self.settle_by_ledger(*number, now);
            }
        }
        waiting.len() as u64
    }
}

fn fits(filter: &DeadLetterFilter, letter: &DeadLetter, now: Timestamp) -> bool {
    filter.event_id.is_none_or(|id| id == letter.event_id)
        && filter.event_type.as_ref().is_none_or(|wanted| *wanted == letter.event_type)
        && filter.handler.as_ref().is_none_or(|wanted| Some(wanted) == letter.handler.as_ref())
        && filter.error_contains.as_ref().is_none_or(|text| letter.reason.contains(text))
        && filter.dead_for.is_none_or(|dead_for| letter.died_at.after(dead_for) <= now)
}
