//! A store that can be made to fail: wrappers around a real bus and ledger, for what a disk or a network does to them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use outbox_core::{
    Bus, Claim, ClaimRequest, ClaimToken, Envelope, Ledger, LedgerError, PublishError, Publisher, Receipt,
    Received, Release, Settlement, StoreError, StoreErrorKind, StoreId, Subscription, Timestamp, Upkeep,
    UpkeepReport, async_trait,
};

/// Which calls fail, and how often each was made.
#[derive(Clone, Default)]
pub(crate) struct Faults {
    calls: Arc<Mutex<BTreeMap<&'static str, Call>>>,
}

#[derive(Default)]
struct Call {
    fault: Option<Fault>,
    times: usize,
}

/// How a call fails.
#[derive(Clone, Copy)]
pub(crate) enum Fault {
    /// It has no effect.
    Refused(StoreErrorKind),
    /// It takes effect, but the answer is lost.
    AnswerLost,
    /// It never returns.
    Hangs,
    /// It panics.
    Panics,
}

pub(crate) const FULL: Fault = Fault::Refused(StoreErrorKind::Full);
pub(crate) const BUSY: Fault = Fault::Refused(StoreErrorKind::Busy);

impl Faults {
    /// Lets a call fail from now on.
    pub(crate) fn set(&self, call: &'static str, fault: Fault) {
        self.calls.lock().unwrap().entry(call).or_default().fault = Some(fault);
    }

    /// Lets every call work again.
    pub(crate) fn clear(&self) {
        self.calls.lock().unwrap().values_mut().for_each(|call| call.fault = None);
    }

    /// How often a call was made.
    pub(crate) fn times(&self, call: &'static str) -> usize {
        self.calls.lock().unwrap().get(call).map_or(0, |call| call.times)
    }

    /// Counts the call, and makes it if it is to work or to lose its answer.
    async fn around<T>(
        &self,
        name: &'static str,
        call: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let fault = {
            let mut calls = self.calls.lock().unwrap();
            let entry = calls.entry(name).or_default();
            entry.times += 1;
            entry.fault
        };
        match fault {
            None => call.await,
            Some(Fault::Refused(kind)) => Err(StoreError::new(kind, "injected fault")),
            Some(Fault::AnswerLost) => {
                call.await?;
                Err(StoreError::new(StoreErrorKind::Other, "injected loss of the answer"))
            }
            Some(Fault::Hangs) => std::future::pending().await,
            Some(Fault::Panics) => panic!("injected panic"),
        }
    }

    async fn around_change(
        &self,
        name: &'static str,
        call: impl Future<Output = Result<(), LedgerError>>,
    ) -> Result<(), LedgerError> {
        let answer = async {
            match call.await {
                Err(LedgerError::Store(error)) => Err(error),
                other => Ok(other),
            }
        };
        self.around(name, answer).await.map_err(LedgerError::from)?
    }
}

/// A bus whose calls may fail.
pub(crate) struct FaultyBus<B> {
    pub(crate) bus: B,
    pub(crate) faults: Faults,
}

/// A ledger whose calls may fail.
pub(crate) struct FaultyLedger<L> {
    pub(crate) ledger: L,
    pub(crate) faults: Faults,
}

#[async_trait]
impl<B: Bus> Publisher for FaultyBus<B> {
    async fn publish(&self, events: &[Envelope]) -> Vec<Result<(), PublishError>> {
        self.bus.publish(events).await
    }
}

#[async_trait]
impl<B: Bus> Bus for FaultyBus<B> {
    async fn subscribe(&self, subscription: Subscription) -> Result<(), StoreError> {
        self.faults.around("subscribe", self.bus.subscribe(subscription)).await
    }

    async fn receive(&self, max: usize) -> Result<Vec<Received>, StoreError> {
        self.faults.around("receive", self.bus.receive(max)).await
    }

    async fn settle(&self, settlements: Vec<(Receipt, Settlement)>) -> Result<(), StoreError> {
        self.faults.around("settle", self.bus.settle(settlements)).await
    }

    async fn extend(&self, receipts: &[Receipt]) -> Result<(), StoreError> {
        self.faults.around("extend", self.bus.extend(receipts)).await
    }

    async fn wake(&self) {
        self.bus.wake().await;
    }

    async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        self.faults.around("next_due", self.bus.next_due()).await
    }

    async fn maintain(&self, upkeep: &Upkeep) -> Result<UpkeepReport, StoreError> {
        self.faults.around("maintain", self.bus.maintain(upkeep)).await
    }

    fn store_id(&self) -> Option<StoreId> {
        self.bus.store_id()
    }

    fn lease(&self) -> Duration {
        self.bus.lease()
    }
}

#[async_trait]
impl<L: Ledger> Ledger for FaultyLedger<L> {
    async fn claim(&self, request: &ClaimRequest) -> Result<Claim, StoreError> {
        self.faults.around("claim", self.ledger.claim(request)).await
    }

    async fn renew(&self, token: &ClaimToken, lease: Duration) -> Result<(), LedgerError> {
        self.faults.around_change("renew", self.ledger.renew(token, lease)).await
    }

    async fn done(&self, token: &ClaimToken) -> Result<(), LedgerError> {
        self.faults.around_change("done", self.ledger.done(token)).await
    }

    async fn release(&self, token: &ClaimToken, release: &Release) -> Result<(), LedgerError> {
        self.faults.around_change("release", self.ledger.release(token, release)).await
    }

    async fn bury(&self, token: &ClaimToken, reason: &str) -> Result<(), LedgerError> {
        self.faults.around_change("bury", self.ledger.bury(token, reason)).await
    }

    fn store_id(&self) -> Option<StoreId> {
        self.ledger.store_id()
    }
}
