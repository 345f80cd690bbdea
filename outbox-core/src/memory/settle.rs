//! What the states of its handlers make of an event as a whole.

use super::claims::ClaimRow;
use super::row::Row;
use super::store::Tables;
use crate::{ClaimState, EventState, OVERDUE, Timestamp, WaitReason};

impl Tables {
    /// Puts a row into the state that the ledger calls for: finished when every handler listed for its type has
    /// finished, else back to where workers find it.
    pub(super) fn settle_by_ledger(&mut self, number: u64, now: Timestamp) {
        let Some(row) = self.queue.get(&number) else { return };
        let event_type = &row.envelope.event_type;
        let listed = self.listed_for(event_type);
        let is_finished = !listed.is_empty() && listed.iter().all(|(name, _)| self.has_finished(row, name));
        // What a retired handler gave up is no reason to keep the event among the dead.
        let is_dead = listed.iter().any(|(name, _)| self.is_dead(row, name));
        let row = self.queue.get_mut(&number).expect("looked up above");
        match (is_finished, is_dead) {
            (true, false) => row.finish(EventState::Done, now),
            (true, true) => row.finish(EventState::DeadLettered, now),
            (false, _) => row.give_back(),
        }
    }

    /// What the ledger says about a handler and the event of a row, if the handler has begun.
    pub(super) fn claim_of(&self, row: &Row, handler: &str) -> Option<&ClaimRow> {
        self.claims.get(row.event_id?, handler)
    }

    /// Whether the row no longer waits for that handler.
    pub(super) fn has_finished(&self, row: &Row, handler: &str) -> bool {
        row.reported.contains(handler) || self.claim_of(row, handler).is_some_and(ClaimRow::is_finished)
    }

    fn is_dead(&self, row: &Row, handler: &str) -> bool {
        self.claim_of(row, handler).is_some_and(|claim| claim.state == ClaimState::Dead)
    }

    /// The handlers that have given up on the event of a row.
    pub(super) fn dead_handlers<'a>(
        &'a self,
        row: &'a Row,
    ) -> impl Iterator<Item = (&'a str, &'a ClaimRow)> + 'a {
        let claims = row.event_id.into_iter().flat_map(|id| self.claims.of_event(id));
        claims.filter(|(_, claim)| claim.state == ClaimState::Dead)
    }

    /// When a handler may run on the event of a row: the event's own due time and, once the handler has begun, the end
    /// of its lease or of its pause.
    pub(super) fn due_for(&self, row: &Row, handler: &str) -> Timestamp {
        self.claim_of(row, handler).map_or(row.due, |claim| row.due.max(claim.lease_until))
    }

    /// When the earliest of its unfinished handlers may run, as far as they know its version.
    pub(super) fn available_at(&self, row: &Row) -> Timestamp {
        let listed = self.listed_for(&row.envelope.event_type);
        let known = listed.iter().filter(|(_, seen)| row.envelope.version <= seen.max_version);
        let unfinished = known.filter(|(name, _)| !self.has_finished(row, name));
        unfinished.map(|(name, _)| self.due_for(row, name)).min().unwrap_or(row.due)
    }

    /// What an unfinished row that nobody has in hand waits for, beside its due time and a free worker; of several
    /// handlers, the first by name.
    pub(super) fn waits_for(&self, number: u64, row: &Row) -> Option<WaitReason> {
        self.reasons(number, row).into_iter().next()
    }

    /// The same, with every handler that it waits for.
    pub(super) fn reasons(&self, number: u64, row: &Row) -> Vec<WaitReason> {
        if row.state != EventState::Pending {
            return Vec::new();
        }
        let event_type = row.envelope.event_type.clone();
        let listed = self.listed_for(&event_type);
        if listed.is_empty() {
            return vec![WaitReason::AnyHandler { event_type }];
        }
        let unfinished = listed.iter().filter(|(name, _)| !self.has_finished(row, name));
        let is_held_back = |name: &str| self.is_held_back(number, row, name);
        let version = row.envelope.version;
        if unfinished.clone().all(|(_, seen)| seen.max_version < version) {
            return vec![WaitReason::Version { event_type, version }];
        }
        if unfinished.clone().all(|(name, _)| is_held_back(name)) {
            return vec![WaitReason::Key];
        }
        // Some worker took the event and did not have these handlers.
        let has_begun = |name: &str| row.reported.contains(name) || self.claim_of(row, name).is_some();
        if !listed.iter().any(|(name, _)| has_begun(name)) {
            return Vec::new();
        }
        let missing = unfinished.filter(|(name, _)| !has_begun(name) && !is_held_back(name));
        missing.map(|(name, _)| WaitReason::Handler(name.to_string())).collect()
    }

    /// Whom an overdue event waits for with which nobody has begun, beside what [`waits_for`](Self::waits_for) tells.
    pub(super) fn overdue_for(&self, number: u64, row: &Row, now: Timestamp) -> Vec<WaitReason> {
        let is_overdue = row.is_waiting() && row.due.after(OVERDUE) <= now;
        if !is_overdue || self.waits_for(number, row).is_some() {
            return Vec::new();
        }
        let listed = self.listed_for(&row.envelope.event_type).into_iter();
        let not_begun = listed.filter(|(name, _)| self.claim_of(row, name).is_none());
        not_begun.map(|(name, _)| WaitReason::Handler(name.to_string())).collect()
    }
}
