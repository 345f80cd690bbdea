//! How a run ends: done, released or dead, written until the store has taken it.

use tracing::{error, info, warn};

use super::{ActiveClaim, RunEnd};
use crate::worker::health::Step;
use crate::{FailureKind, HandlerFailure, LedgerError, Release, RunResult, Settlement, Timestamp};

impl ActiveClaim {
    /// Marks the handler's work as finished.
    ///
    /// # Errors
    ///
    /// The claim was lost, or the store fails for so long that the worker gave up.
    pub async fn done(self) -> RunResult {
        let handled = self.handler.metrics.handled.clone();
        let end = self.write(Change::Done, Settlement::Done, RunEnd::Done).await?;
        handled.increment(1);
        Ok(end)
    }

    /// Gives the claim back after a failure, or gives up where no retry is left or none can help.
    ///
    /// # Errors
    ///
    /// The claim was lost, or the store fails for so long that the worker gave up.
    pub async fn release(self, failure: HandlerFailure) -> RunResult {
        let now = self.in_hand.worker.clock.now();
        let attempt = self.token.attempt;
        let usual = now.after(self.in_hand.worker.backoff.delay(attempt));
        let due = match failure.kind() {
            FailureKind::LeaseLost => return Err(self.lease_lost()),
            FailureKind::Shutdown => return self.hand_back(now, failure.message().to_owned()).await,
            FailureKind::Permanent => return self.bury(failure.message().to_owned()).await,
            _ if attempt >= self.handler.max_attempts => {
                return self.bury(failure.message().to_owned()).await;
            }
            FailureKind::RetryAfter(delay) => now.after(delay),
            // Threads that the handler started may still run; the lease covers them.
            FailureKind::Timeout => usual.max(self.beat.lease_until()),
            FailureKind::Retry | FailureKind::Panic => usual,
        };
        self.handler.metrics.failed.increment(1);
        warn!(
            name: "outbox.handler.failed",
            handler = %self.handler.name, event_id = %self.token.event_id, attempt, due = %due, error = failure.message(),
            "handler failed, to be retried"
        );
        let error = failure.message().to_owned();
        let change = Change::Release(Release { due, error: Some(error.clone()), refund: false });
        self.write(
            change,
            Settlement::Retry { at: due, error: error.clone() },
            RunEnd::Released { due, error },
        )
        .await
    }

    async fn bury(self, reason: String) -> RunResult {
        self.handler.metrics.dead.increment(1);
        error!(
            name: "outbox.handler.dead",
            handler = %self.handler.name, event_id = %self.token.event_id, attempt = self.token.attempt, error = reason,
            "handler gave up: dead letter"
        );
        let settlement = Settlement::Retry { at: self.in_hand.worker.clock.now(), error: reason.clone() };
        self.write(Change::Bury(reason.clone()), settlement, RunEnd::Dead { reason }).await
    }

    /// Gives a claim back that was not used up, without spending the attempt.
    async fn hand_back(self, due: Timestamp, error: String) -> RunResult {
        let change = Change::Release(Release { due, error: Some(error), refund: true });
        self.write(change, Settlement::Defer { until: due }, RunEnd::Held { until: due }).await
    }

    pub(super) fn lease_lost(&self) -> RunEnd {
        warn!(
            name: "outbox.lease.lost",
            handler = %self.handler.name, event_id = %self.token.event_id, attempt = self.token.attempt,
            "lease lost: another worker may have taken over, nothing was written"
        );
        self.handler.metrics.leases_lost.increment(1);
        RunEnd::LeaseLost
    }

    /// Writes the change and, where bus and ledger share a store and this is the event's last run, settles in the same
    /// breath, so that both fit in one transaction. The store settles by its ledger, so it is right whichever of the
    /// two comes first and whichever fails.
    async fn write(mut self, change: Change, settlement: Settlement, end: RunEnd) -> RunResult {
        self.slot.take();
        let written = if self.in_hand.is_joint_and_last() {
            let settle = self.in_hand.settle(settlement);
            futures_util::join!(self.change(&change), settle).0
        } else {
            self.change(&change).await
        };
        written.map(|()| end)
    }

    /// Settles the event if this was its last run and the store settles by its ledger.
    pub(super) async fn settle(&self, settlement: Settlement) {
        if self.in_hand.is_joint_and_last() {
            self.in_hand.settle(settlement).await;
        }
    }

    /// Repeats the change until the store has taken it, the claim is lost, or the worker gives up.
    pub(super) async fn change(&self, change: &Change) -> Result<(), RunEnd> {
        let worker = &self.in_hand.worker;
        let mut pause = worker.store_pause();
        loop {
            let attempt = match change {
                Change::Done => worker.ledger.done(&self.token).await,
                Change::Release(release) => worker.ledger.release(&self.token, release).await,
                Change::Bury(reason) => worker.ledger.bury(&self.token, reason).await,
            };
            match attempt {
                Ok(()) => {
                    worker.health.store_works(Step::Ledger);
                    return Ok(());
                }
                Err(LedgerError::LeaseLost) => return Err(self.lease_lost()),
                Err(LedgerError::Store(failure)) => {
                    worker.health.store_failed(Step::Ledger, &failure);
                    if !pause.wait().await {
                        info!(handler = %self.handler.name, event_id = %self.token.event_id, "left to expire");
                        return Err(RunEnd::StoreFailed(failure));
                    }
                }
            }
        }
    }
}

/// A change of a claim that ends it.
pub(super) enum Change {
    Done,
    Release(Release),
    Bury(String),
}
