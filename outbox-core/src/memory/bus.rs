//! The queue as a bus.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use tokio::sync::Notify;

use super::store::{Store, Tables};
use crate::{
    Bus, Envelope, PublishError, Publisher, Receipt, Received, Settlement, SharedClock, StoreError, StoreId,
    Subscription, Timestamp, Upkeep, UpkeepReport,
};

/// A queue in memory.
///
/// From [`MemoryOutbox::bus`](super::MemoryOutbox::bus) it shares a store with its ledger: it grants claims along with
/// events, and an event is done when the ledger says so. One of its own, from [`MemoryBus::new`], delivers whole
/// events to a worker that keeps its books elsewhere, as a broker does.
///
/// Clones are the same bus; each worker needs one of its own.
#[derive(Debug, Clone)]
pub struct MemoryBus {
    store: Arc<Store>,
    woken: Arc<Notify>,
    subscription: Arc<Mutex<Option<Subscription>>>,
}

impl MemoryBus {
    /// A queue of its own.
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

    /// Sets for how long a received event stays in a worker's hands unless it is extended. Default 60 s.
    #[must_use]
    pub fn with_lease(self, lease: Duration) -> Self {
        self.store.tables().lease = lease;
        self
    }

    pub(super) fn of(store: &Arc<Store>) -> Self {
        Self { store: Arc::clone(store), woken: store.listen(), subscription: Arc::default() }
    }

    fn subscription(&self) -> MutexGuard<'_, Option<Subscription>> {
        self.subscription.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Default for MemoryBus {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait]
impl Publisher for MemoryBus {
    async fn publish(&self, events: &[Envelope]) -> Vec<Result<(), PublishError>> {
        self.store.change(|tables, now| {
            for event in events {
                tables.insert(Some(event.id), event.clone(), now);
            }
        });
        events.iter().map(|_| Ok(())).collect()
    }
}

#[async_trait]
impl Bus for MemoryBus {
    async fn subscribe(&self, subscription: Subscription) -> Result<(), StoreError> {
        self.store.change(|tables, now| tables.list(&subscription, now));
        *self.subscription() = Some(subscription);
        Ok(())
    }

    async fn receive(&self, max: usize) -> Result<Vec<Received>, StoreError> {
        let subscription = self.subscription();
        let Some(subscription) = &*subscription else {
            return Ok(Vec::new());
        };
        let mut tables = self.store.tables();
        let now = tables.now();
        Ok(tables.receive(subscription, max, now))
    }

    async fn settle(&self, settlements: Vec<(Receipt, Settlement)>) -> Result<(), StoreError> {
        let subscription = self.subscription();
        self.store.change(|tables, now| {
            for (receipt, settlement) in settlements {
                tables.settle(&receipt, settlement, subscription.as_ref(), now);
            }
        });
        Ok(())
    }

    async fn extend(&self, receipts: &[Receipt]) -> Result<(), StoreError> {
        let mut tables = self.store.tables();
        let now = tables.now();
        for receipt in receipts {
            if let Some(number) = tables.held(receipt) {
                let row = tables.queue.get_mut(&number).expect("held rows exist");
                row.take(Arc::clone(&receipt.token), now);
            }
        }
        Ok(())
    }

    async fn wake(&self) {
        self.woken.notified().await;
    }

    async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        let subscription = self.subscription();
        let tables = self.store.tables();
        Ok(subscription.as_ref().and_then(|subscription| tables.next_due(subscription, tables.now())))
    }

    async fn maintain(&self, upkeep: &Upkeep) -> Result<UpkeepReport, StoreError> {
        let subscription = self.subscription();
        let Some(subscription) = &*subscription else {
            return Ok(UpkeepReport::default());
        };
        let mut tables = self.store.tables();
        let now = tables.now();
        Ok(tables.maintain(upkeep, subscription, now))
    }

    fn store_id(&self) -> Option<StoreId> {
        Some(self.store.id)
    }

    fn lease(&self) -> Duration {
        self.store.tables().lease
    }
}

impl Tables {
    /// The row of a receipt, unless its delivery was taken over or settled.
    fn held(&self, receipt: &Receipt) -> Option<u64> {
        let number = receipt.message.parse().ok()?;
        self.queue.get(&number).filter(|row| row.is_held_by(receipt)).map(|_| number)
    }

    /// Ends a delivery. Where the worker's ledger is in these tables, it decides; else the worker's word does.
    fn settle(
        &mut self,
        receipt: &Receipt,
        settlement: Settlement,
        subscription: Option<&Subscription>,
        now: Timestamp,
    ) {
        let Some(number) = self.held(receipt) else { return };
        let is_joint = subscription.is_some_and(|subscription| subscription.grant_claims);
        let row = self.queue.get_mut(&number).expect("held rows exist");
        match settlement {
            Settlement::Dead { reason } => {
                row.bury(reason, now);
                if let (Some(event_id), Some(subscription)) = (row.event_id, subscription) {
                    self.claims.give_back(event_id, subscription.owner, now);
                }
                return;
            }
            Settlement::Done if !is_joint => {
                let finished = subscription.into_iter().flat_map(|subscription| &subscription.handlers);
                let finished = finished.filter(|handler| super::receive::takes(handler, row));
                let finished: Vec<_> = finished.map(|handler| Arc::clone(&handler.name)).collect();
                row.reported.extend(finished);
            }
            Settlement::Retry { at, error } => {
                row.last_error = Some(error);
                if !is_joint {
                    row.attempts += 1;
                    row.due = at;
                }
            }
            Settlement::Defer { until } if !is_joint => row.due = until,
            Settlement::Done | Settlement::Defer { .. } => {}
        }
        self.settle_by_ledger(number, now);
    }
}
