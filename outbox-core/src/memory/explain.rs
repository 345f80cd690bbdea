//! All that the store knows about one event.

use super::claims::ClaimRow;
use super::row::Row;
use super::store::Tables;
use crate::{EventEnd, EventId, EventState, Explanation, HandlerProgress, Timestamp, WaitReason, timeline};

impl Tables {
    pub(super) fn explain(&self, event_id: EventId, now: Timestamp) -> Option<Explanation> {
        let Some(number) = self.row_of(event_id) else {
            return Explanation::by_ledger(event_id, self.progress(event_id));
        };
        let row = &self.queue[&number];
        let mut handlers: Vec<_> = self.progress(event_id);
        for (name, _) in self.listed_for(&row.envelope.event_type) {
            if !row.is_finished() && handlers.iter().all(|begun| *begun.handler != *name) {
                handlers.push(HandlerProgress::not_begun(&*name));
            }
        }
        let overdue_for = self.overdue_for(number, row, now);
        let waits_for = self.waits_for(number, row).or_else(|| overdue_for.into_iter().next());
        handlers.sort_by(|a, b| a.handler.cmp(&b.handler));
        Some(Explanation {
            event_id,
            event_type: row.envelope.event_type.clone(),
            version: row.envelope.version,
            key: row.envelope.key.clone(),
            state: Some(row.state),
            payload: row.envelope.payload.clone(),
            headers: row.envelope.headers.clone(),
            behind: waits_for.as_ref().and_then(|reason| self.behind(reason, number, row)),
            waits_for,
            available_at: row.lease_until(self.lease).unwrap_or_else(|| self.available_at(row)),
            timeline: timeline(Some(row.envelope.occurred_at), &handlers, end(row)),
            handlers,
        })
    }

    /// The event of its key that holds back a handler which has not finished with it.
    fn behind(&self, reason: &WaitReason, number: u64, row: &Row) -> Option<EventId> {
        let listed =
            self.listed_for(&row.envelope.event_type).into_iter().filter(|_| *reason == WaitReason::Key);
        let mut unfinished = listed.filter(|(name, _)| !self.has_finished(row, name));
        unfinished.find_map(|(name, _)| self.held_back_by(number, row, &name))?.event_id
    }

    fn progress(&self, event_id: EventId) -> Vec<HandlerProgress> {
        self.claims.of_event(event_id).map(|(name, claim)| progress_of(name, claim)).collect()
    }
}

fn progress_of(handler: &str, claim: &ClaimRow) -> HandlerProgress {
    HandlerProgress {
        handler: handler.to_owned(),
        state: Some(claim.state),
        attempts: claim.attempts,
        owner: Some(claim.owner.to_string()),
        started_at: Some(claim.started_at),
        lease_until: (!claim.is_finished()).then_some(claim.lease_until),
        processed_at: claim.processed_at,
        last_error: claim.last_error.clone(),
    }
}

/// How the row ended, if it has.
fn end(row: &Row) -> Option<EventEnd<'_>> {
    let is_dead = row.state == EventState::DeadLettered;
    let reason = row.last_error.as_deref().filter(|_| is_dead);
    Some(EventEnd { at: row.finished_at?, state: row.state, reason })
}
