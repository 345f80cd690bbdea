//! Which events a worker gets.

use std::sync::Arc;

use uuid::Uuid;

use super::row::Row;
use super::store::{Seen, Tables};
use crate::{
    Claim, ClaimRequest, ClaimToken, EventId, Receipt, Received, SubscribedHandler, Subscription, Timestamp,
    matches_pattern,
};

impl Tables {
    /// Lists a worker's handlers as those that events of their types wait for.
    pub(super) fn list(&mut self, subscription: &Subscription, now: Timestamp) {
        for handler in &subscription.handlers {
            let key = (Arc::clone(&handler.event_type), Arc::clone(&handler.name));
            let new = Seen { first: now, last: now, max_version: 0, on_dead: handler.on_dead };
            let seen = self.listed.entry(key).or_insert(new);
            seen.last = now;
            seen.max_version = seen.max_version.max(handler.max_version);
            seen.on_dead = handler.on_dead;
        }
    }

    /// Takes as many events as come with at most `max` handler runs, in the order of their due times.
    pub(super) fn receive(
        &mut self,
        subscription: &Subscription,
        max: usize,
        now: Timestamp,
    ) -> Vec<Received> {
        let mut received = Vec::new();
        let mut left = max;
        for number in self.free_rows(now) {
            if left == 0 {
                break;
            }
            let taken = if subscription.grant_claims {
                self.take_with_claims(number, subscription, left, now)
            } else {
                // An event whose handlers are more than anybody has room for is delivered alone.
                let room = if received.is_empty() { usize::MAX } else { left };
                self.take_as_a_whole(number, subscription, room, now)
            };
            if let Some((event, runs)) = taken {
                received.push(event);
                left = left.saturating_sub(runs);
            }
        }
        received
    }

    fn free_rows(&self, now: Timestamp) -> Vec<u64> {
        let free = self.queue.iter().filter(|(_, row)| row.is_free(self.lease, now));
        let mut by_due: Vec<_> = free.map(|(number, row)| (self.available_at(row), *number)).collect();
        by_due.sort_unstable();
        by_due.into_iter().map(|(_, number)| number).collect()
    }

    /// Delivers the row with the claims of those handlers that can run now. A row for which there are none goes to
    /// where the ledger wants it: its last handler may just have been given up, or its worker died before it settled.
    fn take_with_claims(
        &mut self,
        number: u64,
        subscription: &Subscription,
        room: usize,
        now: Timestamp,
    ) -> Option<(Received, usize)> {
        let mut claims: Vec<ClaimToken> = Vec::new();
        for handler in self.runnable(number, subscription) {
            if claims.len() == room {
                break;
            }
            let request = ClaimRequest {
                event_id: self.identify(number),
                handler: handler.name,
                owner: subscription.owner,
                lease: handler.lease,
                max_attempts: handler.max_attempts,
            };
            if let Claim::Granted(token) = self.claims.claim(&request, now) {
                claims.push(token);
            }
        }
        if claims.is_empty() {
            self.settle_by_ledger(number, now);
            return None;
        }
        let runs = claims.len();
        Some((self.hand_out(number, Some(claims), now), runs))
    }

    /// Delivers the row for all of the worker's handlers at once; its own ledger decides which of them run.
    fn take_as_a_whole(
        &mut self,
        number: u64,
        subscription: &Subscription,
        room: usize,
        now: Timestamp,
    ) -> Option<(Received, usize)> {
        let wanted = self.wanted(number, subscription);
        let runnable = self.runnable(number, subscription);
        if wanted.is_empty() || runnable.len() < wanted.len() || runnable.len() > room {
            return None;
        }
        self.identify(number);
        Some((self.hand_out(number, None, now), runnable.len()))
    }

    /// The worker's handlers that this row still waits for.
    fn wanted(&self, number: u64, subscription: &Subscription) -> Vec<SubscribedHandler> {
        let row = &self.queue[&number];
        let taking = subscription.handlers.iter().filter(|handler| takes(handler, row));
        taking.filter(|handler| !self.has_finished(row, &handler.name)).cloned().collect()
    }

    /// Those of them whose turn it is within the row's key.
    fn runnable(&self, number: u64, subscription: &Subscription) -> Vec<SubscribedHandler> {
        let row = &self.queue[&number];
        let wanted = self.wanted(number, subscription).into_iter();
        wanted.filter(|handler| !self.is_held_back(number, row, &handler.name)).collect()
    }

    /// The event's id; one that was written without gets it now, and keeps it.
    fn identify(&mut self, number: u64) -> EventId {
        let row = self.queue.get_mut(&number).expect("received rows exist");
        let id = *row.event_id.get_or_insert_with(EventId::new);
        row.envelope.id = id;
        id
    }

    fn hand_out(&mut self, number: u64, claims: Option<Vec<ClaimToken>>, now: Timestamp) -> Received {
        let token: Arc<str> = Arc::from(Uuid::new_v4().to_string());
        let row = self.queue.get_mut(&number).expect("received rows exist");
        row.take(Arc::clone(&token), now);
        Received {
            envelope: Arc::new(row.envelope.clone()),
            receipt: Receipt { message: Arc::from(number.to_string()), token },
            claims,
        }
    }

    /// When the next of a worker's events that are not yet due will be: its due time, or the end of the lease of
    /// whoever has it in hand.
    pub(super) fn next_due(&self, subscription: &Subscription, now: Timestamp) -> Option<Timestamp> {
        let unfinished = self.queue.iter().filter(|(_, row)| !row.is_finished());
        let due_times = unfinished.flat_map(|(number, row)| {
            let wanted = self.wanted(*number, subscription);
            let lease_until = row.lease_until(self.lease);
            wanted.into_iter().map(move |handler| {
                let due = self.due_for(row, &handler.name);
                lease_until.map_or(due, |until| until.max(row.due))
            })
        });
        due_times.filter(|due| *due > now).min()
    }
}

/// Whether a worker's handler may run on the event of a row. A version above the known one waits for a newer worker.
pub(super) fn takes(handler: &SubscribedHandler, row: &Row) -> bool {
    matches_pattern(&handler.event_type, &row.envelope.event_type)
        && row.envelope.version <= handler.max_version
}
