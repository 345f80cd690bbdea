//! The ways through a run whose effect and ledger mark commit together.

use std::time::Duration;

use tracing::debug;

use super::ending::Change;
use super::{ActiveClaim, RunEnd};
use crate::worker::health::Step;
use crate::{
    FailureKind, HandlerFailure, HandlerTransaction, LedgerError, Release, RunResult, Settlement, StoreError,
    StoreErrorKind,
};

impl ActiveClaim {
    /// Begins the handler's transaction, which comes from the worker's ledger, so that effect and mark share a database.
    ///
    /// Waiting for other writers of this process spends no attempt; the claim is checked right after BEGIN.
    ///
    /// # Errors
    ///
    /// Why the handler is not to run: the claim was lost meanwhile, or another process holds the lock (the run is
    /// deferred).
    pub async fn begin<T: HandlerTransaction>(&self) -> Result<Box<T>, RunEnd> {
        let worker = &self.in_hand.worker;
        let begin = async {
            let source = worker.ledger.transactions().ok_or_else(|| {
                StoreError::new(StoreErrorKind::Invalid, "this ledger offers no transactions")
            })?;
            let begun = source.begin(&self.token, &self.delivery).await?;
            begun.downcast::<T>().map_err(|_| {
                let text = format!("this ledger offers {}", source.offers().name());
                LedgerError::from(StoreError::new(StoreErrorKind::Invalid, text))
            })
        };
        let begun = tokio::select! {
            begun = begin => begun,
            () = self.beat.lost() => Err(LedgerError::LeaseLost),
            () = worker.abort.cancelled() => Err(StoreError::new(StoreErrorKind::Busy, "the worker shuts down").into()),
        };
        match begun {
            Ok(transaction) => {
                worker.health.store_works(Step::Begin);
                Ok(transaction)
            }
            Err(LedgerError::LeaseLost) => Err(self.lease_lost()),
            Err(LedgerError::Store(failure)) => Err(self.give_back(&failure).await),
        }
    }

    /// Commits the handler's transaction together with the ledger mark.
    ///
    /// # Errors
    ///
    /// The claim was lost (everything is rolled back), or the store failed.
    pub async fn commit<T: HandlerTransaction>(mut self, transaction: Box<T>) -> RunResult {
        self.slot.take();
        match transaction.commit().await {
            Ok(()) => {
                self.handler.metrics.handled.increment(1);
                self.in_hand.worker.health.store_works(Step::Commit);
                self.settle(Settlement::Done).await;
                Ok(RunEnd::Done)
            }
            Err(LedgerError::LeaseLost) => Err(self.lease_lost()),
            // Should the commit have taken effect after all, the ledger row is done and the release changes nothing.
            Err(LedgerError::Store(failure)) => {
                self.in_hand.worker.health.store_failed(Step::Commit, &failure);
                let text = format!("commit failed: {}", crate::error::chain(&failure));
                self.release(HandlerFailure::new(FailureKind::Retry, text)).await
            }
        }
    }

    /// Rolls the handler's transaction back and gives the claim back.
    ///
    /// # Errors
    ///
    /// As [`release`](ActiveClaim::release).
    pub async fn rollback<T: HandlerTransaction>(
        self,
        transaction: Box<T>,
        failure: HandlerFailure,
    ) -> RunResult {
        if let Err(error) = transaction.rollback().await {
            debug!(handler = %self.handler.name, error = %error, "rollback failed; the transaction is gone all the same");
        }
        self.release(failure).await
    }

    /// The transaction could not be begun, so the handler has not run.
    async fn give_back(&self, failure: &StoreError) -> RunEnd {
        const PAUSE: Duration = Duration::from_millis(100);
        let worker = &self.in_hand.worker;
        if !worker.abort.is_cancelled() {
            worker.health.store_failed(Step::Begin, failure);
        }
        self.handler.metrics.deferred.increment(1);
        let until = worker.clock.now().after(PAUSE);
        let release = Release { due: until, error: Some(crate::error::chain(failure)), refund: true };
        match self.change(&Change::Release(release)).await {
            Ok(()) => RunEnd::Held { until },
            Err(end) => end,
        }
    }
}
