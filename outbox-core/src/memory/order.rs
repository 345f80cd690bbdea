//! The order of a key: a handler gets an event only after the earlier ones of its key.

use super::row::Row;
use super::store::Tables;
use crate::{ClaimState, EventState, OnDead};

impl Tables {
    /// Whether a handler must wait with this row until it has finished an earlier one of the same key. The nearest of its
    /// own is enough: each one before was passed in order. (But for a dead letter that was redriven after the key had gone
    /// on: it holds back what follows it only as far as nothing that has been passed, and is not done, stands between.)
    pub(super) fn is_held_back(&self, number: u64, row: &Row, handler: &str) -> bool {
        self.held_back_by(number, row, handler).is_some()
    }

    /// The row for which it must wait.
    pub(super) fn held_back_by(&self, number: u64, row: &Row, handler: &str) -> Option<&Row> {
        let key = row.envelope.key.as_ref()?;
        let earlier = self.queue.range(..number).rev().map(|(_, row)| row);
        let of_the_key = earlier.filter(|row| row.envelope.key.as_ref() == Some(key));
        let its_own = of_the_key.filter(|row| self.is_listed(handler, &row.envelope.event_type));
        let mut told = its_own.filter_map(|row| Some((row, self.passed(row, handler)?)));
        told.next().filter(|(_, passed)| !passed).map(|(row, _)| row)
    }

    /// Whether a handler has passed a row, so that later events of the key may come; `None` if it says nothing, since the
    /// handler has not run on it and will not.
    fn passed(&self, row: &Row, handler: &str) -> Option<bool> {
        let blocks_when_dead = self.blocks_when_dead(row, handler);
        match (row.state, self.claim_of(row, handler).map(|claim| claim.state)) {
            (EventState::Done, _) => None,
            (_, Some(ClaimState::Done)) => Some(true),
            (_, Some(ClaimState::Dead)) => Some(!blocks_when_dead),
            // Given up as a whole, not by one of its handlers: it counts as a dead letter of each.
            (EventState::DeadLettered, _) if self.dead_handlers(row).next().is_none() => {
                blocks_when_dead.then_some(false)
            }
            (EventState::DeadLettered, _) => None,
            (EventState::Pending | EventState::Processing, _) => Some(row.reported.contains(handler)),
        }
    }

    fn blocks_when_dead(&self, row: &Row, handler: &str) -> bool {
        let listed = self.listed_for(&row.envelope.event_type);
        listed.iter().any(|(name, seen)| **name == *handler && seen.on_dead == OnDead::Block)
    }

    fn is_listed(&self, handler: &str, event_type: &str) -> bool {
        self.listed_for(event_type).iter().any(|(name, _)| **name == *handler)
    }
}
