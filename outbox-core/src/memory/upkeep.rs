//! Retention, and types that nobody handles.

use std::collections::{BTreeMap, BTreeSet};

use super::row::Row;
use super::store::Tables;
use crate::{
    ClaimState, EventState, Pruned, Retention, Subscription, Timestamp, Unhandled, Upkeep, UpkeepReport,
    WaitReason, matches_pattern,
};

impl Tables {
    /// Deletes finished rows whose time is over. A ledger row stays as long as the queue may deliver its event again.
    pub(super) fn prune(&mut self, retention: &Retention, now: Timestamp) -> Pruned {
        let may_go = |row: &Row| {
            let kept_for = match row.state {
                EventState::Pending | EventState::Processing => return false,
                EventState::Done => retention.done,
                EventState::DeadLettered => retention.dead,
            };
            row.finished_at.is_some_and(|at| at.after(kept_for) <= now)
        };
        let old: BTreeMap<_, _> = self.queue.extract_if(.., |_, row| may_go(row)).collect();
        let gone: BTreeSet<_> = old.values().filter_map(|row| row.event_id).collect();
        let needed: BTreeSet<_> =
            self.queue.values().filter(|row| row.state != EventState::Done).map(|row| row.event_id).collect();
        let is_over = |at: Timestamp| at.after(retention.ledger) <= now;
        let claims = self.claims.delete(|event_id, _, claim| {
            let may_go = match claim.state {
                ClaimState::Done | ClaimState::Dead => claim.processed_at.is_some_and(is_over),
                // Nobody will run what the event has left.
                _ if gone.contains(&event_id) => true,
                // Of an event of another bus, which has lost it.
                ClaimState::Released => is_over(claim.lease_until),
                ClaimState::InProgress => false,
            };
            may_go && !needed.contains(&Some(event_id))
        });
        Pruned { events: old.len() as u64, claims }
    }

    /// One round of upkeep for a worker with this subscription.
    pub(super) fn maintain(
        &mut self,
        upkeep: &Upkeep,
        subscription: &Subscription,
        now: Timestamp,
    ) -> UpkeepReport {
        let pruned = self.prune(&upkeep.retention, now);
        let unhandled_rows = self.end_unhandled(upkeep.unhandled, now);
        let mut waiting_for = BTreeMap::new();
        let mut unhandled_types = BTreeSet::new();
        for (number, row) in &self.queue {
            let event_type = &row.envelope.event_type;
            let is_own = subscription.handlers.iter().any(|own| matches_pattern(&own.event_type, event_type));
            // An own one that is overdue waits for us, and may not have come to the others yet.
            let overdue = if is_own { Vec::new() } else { self.overdue_for(*number, row, now) };
            for reason in self.reasons(*number, row).into_iter().chain(overdue) {
                match reason {
                    WaitReason::AnyHandler { event_type } => drop(unhandled_types.insert(event_type)),
                    WaitReason::Handler(name) => *waiting_for.entry(name).or_default() += 1,
                    _ => {}
                }
            }
        }
        waiting_for.retain(|name, _| subscription.handlers.iter().all(|own| *own.name != **name));
        let waiting = self.queue.values().filter(|row| row.is_waiting());
        let backlog: Vec<_> = waiting.map(|row| self.available_at(row)).filter(|due| *due <= now).collect();
        UpkeepReport {
            pruned_events: pruned.events,
            pruned_claims: pruned.claims,
            unhandled_types: unhandled_types.into_iter().collect(),
            waiting_for: waiting_for.into_iter().collect(),
            unhandled_rows,
            backlog: backlog.len() as u64,
            oldest: backlog.into_iter().min(),
            more: false,
        }
    }

    /// Ends the due rows of types that no handler is listed for, unless they are to wait.
    fn end_unhandled(&mut self, unhandled: Unhandled, now: Timestamp) -> u64 {
        if unhandled == Unhandled::Wait {
            return 0;
        }
        let concerned: Vec<u64> = self
            .queue
            .iter()
            .filter(|(_, row)| row.is_free(self.lease, now))
            .filter(|(_, row)| self.listed_for(&row.envelope.event_type).is_empty())
            .map(|(number, _)| *number)
            .collect();
        for number in &concerned {
            // An operator names a dead letter by its id.
            self.identify(*number);
            let row = self.queue.get_mut(number).expect("selected above");
            if unhandled == Unhandled::DeadLetter {
                row.bury(format!("no handler is listed for {}", row.envelope.event_type), now);
            } else {
                row.finish(EventState::Done, now);
            }
        }
        concerned.len() as u64
    }
}
