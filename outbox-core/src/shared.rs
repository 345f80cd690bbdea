//! Publishers, buses and ledgers behind an `Arc` are such themselves, so that `Arc<dyn Bus>` can be handed to a worker.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::transaction::Transactions;
use crate::{
    Bus, Claim, ClaimRequest, ClaimToken, Envelope, Ledger, LedgerError, PublishError, Publisher, Receipt,
    Received, Release, Settlement, StoreError, StoreId, Subscription, Timestamp, Upkeep, UpkeepReport,
};

/// A shared publisher is a publisher.
#[async_trait]
impl<P: Publisher + ?Sized> Publisher for Arc<P> {
    async fn publish(&self, events: &[Envelope]) -> Vec<Result<(), PublishError>> {
        (**self).publish(events).await
    }
}

/// A shared bus is a bus.
#[async_trait]
impl<B: Bus + ?Sized> Bus for Arc<B> {
    async fn subscribe(&self, subscription: Subscription) -> Result<(), StoreError> {
        (**self).subscribe(subscription).await
    }

    async fn receive(&self, max: usize) -> Result<Vec<Received>, StoreError> {
        (**self).receive(max).await
    }

    async fn settle(&self, settlements: Vec<(Receipt, Settlement)>) -> Result<(), StoreError> {
        (**self).settle(settlements).await
    }

    async fn extend(&self, receipts: &[Receipt]) -> Result<(), StoreError> {
        (**self).extend(receipts).await
    }

    async fn progressed(&self, receipt: &Receipt) -> Result<(), StoreError> {
        (**self).progressed(receipt).await
    }

    async fn wake(&self) {
        (**self).wake().await;
    }

    async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        (**self).next_due().await
    }

    async fn maintain(&self, upkeep: &Upkeep) -> Result<UpkeepReport, StoreError> {
        (**self).maintain(upkeep).await
    }

    fn store_id(&self) -> Option<StoreId> {
        (**self).store_id()
    }

    fn lease(&self) -> Duration {
        (**self).lease()
    }
}

/// A shared ledger is a ledger.
#[async_trait]
impl<L: Ledger + ?Sized> Ledger for Arc<L> {
    async fn claim(&self, request: &ClaimRequest) -> Result<Claim, StoreError> {
        (**self).claim(request).await
    }

    async fn renew(&self, token: &ClaimToken, lease: Duration) -> Result<(), LedgerError> {
        (**self).renew(token, lease).await
    }

    async fn done(&self, token: &ClaimToken) -> Result<(), LedgerError> {
        (**self).done(token).await
    }

    async fn release(&self, token: &ClaimToken, release: &Release) -> Result<(), LedgerError> {
        (**self).release(token, release).await
    }

    async fn bury(&self, token: &ClaimToken, reason: &str) -> Result<(), LedgerError> {
        (**self).bury(token, reason).await
    }

    fn transactions(&self) -> Option<&dyn Transactions> {
        (**self).transactions()
    }

    fn store_id(&self) -> Option<StoreId> {
        (**self).store_id()
    }
}
