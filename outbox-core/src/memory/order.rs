//! The order of a key: a handler gets an event only after the earlier ones of its key.

use super::row::Row;
use super::store::Tables;
use crate::{ClaimState, EventState, OnDead};

impl Tables {
    /// Whether a handler must wait with this row until it has finished an earlier one of the same key.
    pub(super) fn is_held_back(&self, number: u64, row: &Row, handler: &str) -> bool {
        let Some(key) = &row.envelope.key else { return false };
        let earlier = self.queue.range(..number).filter(|(_, row)| row.envelope.key.as_ref() == Some(key));
        earlier.into_iter().any(|(_, row)| self.holds_back(row, handler))
    }

    /// Whether later events of its key have to wait for this row, as far as that handler is concerned.
    fn holds_back(&self, row: &Row, handler: &str) -> bool {
        let listed = self.listed_for(&row.envelope.event_type);
        let Some((_, seen)) = listed.iter().find(|(name, _)| **name == *handler) else {
            return false;
        };
        let blocks_when_dead = seen.on_dead == OnDead::Block;
        match (row.state, self.claim_of(row, handler).map(|claim| claim.state)) {
            (_, Some(ClaimState::Done)) | (EventState::Done, _) => false,
            (_, Some(ClaimState::Dead)) => blocks_when_dead,
            // Given up as a whole, not by one of its handlers: this one will not run on it, either.
            (EventState::DeadLettered, _) => blocks_when_dead && self.dead_handlers(row).next().is_none(),
            (EventState::Pending | EventState::Processing, _) => !row.reported.contains(handler),
        }
    }
}
