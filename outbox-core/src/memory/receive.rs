//! Which events a worker gets.

use std::sync::Arc;

use uuid::Uuid;

use super::row::Row;
use super::store::{Seen, Tables};
use crate::{
    Claim, ClaimRequest, ClaimToken, EventId, Receipt, Received, SubscribedHandler, Subscription, Timestamp,
    matches_pattern,
};

/// What one look at the queue has brought.
struct Look {
    received: Vec<Received>,
    /// How many more handler runs there is room for.
    left: usize,
    /// Whether a handler was given up whose attempts are used up.
    gave_up: bool,
}

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

    /// Takes as many events as come with at most `max` handler runs, in the order of their due times. A look that finds
    /// only handlers whose attempts are used up is taken again, since it may have made way for later events of a key.
    pub(super) fn receive(
        &mut self,
        subscription: &Subscription,
        max: usize,
        now: Timestamp,
    ) -> Vec<Received> {
        loop {
            let look = self.look(subscription, max, now);
            if !look.received.is_empty() || !look.gave_up {
                return look.received;
            }
        }
    }

    /// One look, at which nothing that it changes itself is seen.
    fn look(&mut self, subscription: &Subscription, max: usize, now: Timestamp) -> Look {
        let of_its_types = |number: &u64| {
            let event_type = &self.queue[number].envelope.event_type;
            subscription.handlers.iter().any(|handler| matches_pattern(&handler.event_type, event_type))
        };
        let rows = self.free_rows(now).into_iter().filter(of_its_types);
        let offers: Vec<_> = rows.map(|number| (number, self.runnable(number, subscription))).collect();
        let mut look = Look { received: Vec::new(), left: max, gave_up: false };
        for (number, runnable) in offers {
            if subscription.grant_claims {
                self.take_with_claims(number, runnable, subscription, now, &mut look);
            } else {
                self.take_as_a_whole(number, runnable, subscription, now, &mut look);
            }
        }
        look
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
        runnable: Vec<SubscribedHandler>,
        subscription: &Subscription,
        now: Timestamp,
        look: &mut Look,
    ) {
        let mut claims: Vec<ClaimToken> = Vec::new();
        let mut is_left_over = false;
        for handler in runnable {
            let request = ClaimRequest {
                event_id: self.identify(number),
                handler: handler.name,
                owner: subscription.owner,
                lease: handler.lease,
                max_attempts: handler.max_attempts,
            };
            if claims.len() == look.left && self.claims.would_grant(&request, now) {
                is_left_over = true;
                continue;
            }
            match self.claims.claim(&request, now) {
                Claim::Granted(token) => claims.push(token),
                Claim::Dead => look.gave_up = true,
                Claim::Done | Claim::Held { .. } => {}
            }
        }
        if claims.is_empty() {
            if !is_left_over {
                self.settle_by_ledger(number, now);
            }
            return;
        }
        look.left -= claims.len();
        look.received.push(self.hand_out(number, Some(claims), now));
    }

    /// Delivers the row for all of the worker's handlers at once; its own ledger decides which of them run. An event
    /// whose handlers are more than anybody has room for is delivered alone.
    fn take_as_a_whole(
        &mut self,
        number: u64,
        runnable: Vec<SubscribedHandler>,
        subscription: &Subscription,
        now: Timestamp,
        look: &mut Look,
    ) {
        let wanted = self.wanted(number, subscription).len();
        let has_room = runnable.len() <= look.left || (look.received.is_empty() && look.left > 0);
        if wanted == 0 || runnable.len() < wanted || !has_room {
            return;
        }
        self.identify(number);
        look.left = look.left.saturating_sub(runnable.len());
        look.received.push(self.hand_out(number, None, now));
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
    pub(super) fn identify(&mut self, number: u64) -> EventId {
        let row = self.queue.get_mut(&number).expect("the row exists");
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
