//! The ledger as workers see it.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use super::claims::Claims;
use super::store::Store;
use crate::{
    Claim, ClaimRequest, ClaimToken, EventId, Ledger, LedgerError, Release, SharedClock, StoreError, StoreId,
    Timestamp,
};

/// A ledger in memory.
///
/// From [`MemoryOutbox::ledger`](super::MemoryOutbox::ledger) it shares a store with its queue; one of its own, from
/// [`MemoryLedger::new`], works with any bus. Clones are the same ledger.
#[derive(Debug, Clone)]
pub struct MemoryLedger {
    store: Arc<Store>,
}

impl MemoryLedger {
    /// A ledger of its own.
    #[must_use]
    pub fn new() -> Self {
        Self::of(&Store::new())
    }

    /// Takes the time from `clock`, which tests move.
    #[must_use]
    pub fn with_clock(self, clock: SharedClock) -> Self {
        self.store.tables().clock = clock;
        self
    }

    pub(super) fn of(store: &Arc<Store>) -> Self {
        Self { store: Arc::clone(store) }
    }

    /// Changes a claim. The event it is about may be waiting for just that, unless a worker has it in hand, who will
    /// settle it.
    fn change(
        &self,
        event_id: EventId,
        change: impl FnOnce(&mut Claims, Timestamp) -> Result<(), LedgerError>,
    ) -> Result<(), LedgerError> {
        self.store.change(|tables, now| {
            change(&mut tables.claims, now)?;
            let row = tables.row_of(event_id);
            if let Some(number) = row.filter(|number| tables.queue[number].is_waiting()) {
                tables.settle_by_ledger(number, now);
            }
            Ok(())
        })
    }
}

impl Default for MemoryLedger {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Ledger for MemoryLedger {
    async fn claim(&self, request: &ClaimRequest) -> Result<Claim, StoreError> {
        let mut tables = self.store.tables();
        let now = tables.now();
        Ok(tables.claims.claim(request, now))
    }

    async fn renew(&self, token: &ClaimToken, lease: Duration) -> Result<(), LedgerError> {
        let mut tables = self.store.tables();
        let now = tables.now();
        tables.claims.renew(token, lease, now)
    }

    async fn done(&self, token: &ClaimToken) -> Result<(), LedgerError> {
        self.change(token.event_id, |claims, now| claims.done(token, now))
    }

    async fn release(&self, token: &ClaimToken, release: &Release) -> Result<(), LedgerError> {
        self.change(token.event_id, |claims, _| claims.release(token, release))
    }

    async fn bury(&self, token: &ClaimToken, reason: &str) -> Result<(), LedgerError> {
        self.change(token.event_id, |claims, now| claims.bury(token, reason, now))
    }

    fn store_id(&self) -> Option<StoreId> {
        Some(self.store.id)
    }
}
