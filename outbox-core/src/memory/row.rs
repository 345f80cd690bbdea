//! One event in the queue.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use crate::{Envelope, EventId, EventState, Receipt, Timestamp};

/// A row of the table `event_queue`.
#[derive(Debug, Clone)]
pub(super) struct Row {
    /// `None`: written by somebody who gave none, and not yet claimed.
    pub(super) event_id: Option<EventId>,
    /// The event. Its `id` counts only once `event_id` is set.
    pub(super) envelope: Envelope,
    pub(super) state: EventState,
    /// Due time of the event itself. Handlers that have begun have their own, in the ledger.
    pub(super) due: Timestamp,
    /// Who has the row in hand, and since when.
    pub(super) holder: Option<Holder>,
    /// Handlers that a worker with a ledger elsewhere has reported as finished.
    pub(super) reported: BTreeSet<Arc<str>>,
    /// Deliveries that failed as a whole; only a relay and a worker with a ledger elsewhere count them.
    pub(super) attempts: u32,
    pub(super) last_error: Option<String>,
    pub(super) finished_at: Option<Timestamp>,
}

#[derive(Debug, Clone)]
pub(super) struct Holder {
    /// Guards against settling a delivery that was taken over.
    pub(super) token: Arc<str>,
    pub(super) claimed_at: Timestamp,
}

impl Row {
    pub(super) fn new(event_id: Option<EventId>, envelope: Envelope, due: Timestamp) -> Self {
        Self {
            event_id,
            envelope,
            state: EventState::Pending,
            due,
            holder: None,
            reported: BTreeSet::new(),
            attempts: 0,
            last_error: None,
            finished_at: None,
        }
    }

    pub(super) fn is_finished(&self) -> bool {
        matches!(self.state, EventState::Done | EventState::DeadLettered)
    }

    /// Whether nobody has it in hand.
    pub(super) fn is_waiting(&self) -> bool {
        self.state == EventState::Pending
    }

    /// The end of the lease of whoever has the row in hand.
    pub(super) fn lease_until(&self, lease: Duration) -> Option<Timestamp> {
        self.holder.as_ref().map(|holder| holder.claimed_at.after(lease))
    }

    /// Whether a worker may take it: it waits and is due, or its worker's lease has run out.
    pub(super) fn is_free(&self, lease: Duration, now: Timestamp) -> bool {
        !self.is_finished() && self.due <= now && self.lease_until(lease).is_none_or(|until| until <= now)
    }

    pub(super) fn is_held_by(&self, receipt: &Receipt) -> bool {
        self.holder.as_ref().is_some_and(|holder| holder.token == receipt.token)
    }

    pub(super) fn take(&mut self, token: Arc<str>, now: Timestamp) {
        self.state = EventState::Processing;
        self.holder = Some(Holder { token, claimed_at: now });
    }

    pub(super) fn give_back(&mut self) {
        self.state = EventState::Pending;
        self.holder = None;
        self.finished_at = None;
    }

    pub(super) fn finish(&mut self, state: EventState, now: Timestamp) {
        self.state = state;
        self.holder = None;
        self.finished_at = Some(now);
    }

    pub(super) fn bury(&mut self, reason: String, now: Timestamp) {
        self.last_error = Some(reason);
        self.finish(EventState::DeadLettered, now);
    }
}
