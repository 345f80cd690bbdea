//! The ledger: who works on which (event, handler), and what is finished.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use uuid::Uuid;

use crate::transaction::Transactions;
use crate::{EventId, StoreError, StoreId, Timestamp};

/// Remembers, per event and handler, whether the handler is running, due again, done or dead.
///
/// Calls are per item; a backend coalesces those that are in flight. Every change of a claim is guarded by its
/// [`ClaimToken`]: a caller whose claim was taken over is told [`LedgerError::LeaseLost`] and changes nothing. The
/// states and their transitions are tabled in ARCHITECTURE.md, and
/// [`testing::conformance`](crate::testing::conformance) holds every implementation to them.
#[async_trait]
pub trait Ledger: Send + Sync + 'static {
    /// Asks for the right to run a handler on an event.
    ///
    /// Granting counts the attempt. A claim whose lease has expired with its attempts used up becomes dead, with the
    /// reason "worker lost".
    ///
    /// # Errors
    ///
    /// [`StoreError`]; nothing was claimed, or the claim will expire unused.
    async fn claim(&self, request: &ClaimRequest) -> Result<Claim, StoreError>;

    /// Extends a claim's lease to `lease` from now.
    ///
    /// # Errors
    ///
    /// [`LedgerError::LeaseLost`] when the claim is no longer ours.
    async fn renew(&self, token: &ClaimToken, lease: Duration) -> Result<(), LedgerError>;

    /// Marks the handler's work on the event as finished, for good. Repeating the call is allowed.
    ///
    /// # Errors
    ///
    /// [`LedgerError::LeaseLost`] when the claim is no longer ours.
    async fn done(&self, token: &ClaimToken) -> Result<(), LedgerError>;

    /// Gives the claim back; the handler is due again at `release.due`.
    ///
    /// # Errors
    ///
    /// [`LedgerError::LeaseLost`] when the claim is no longer ours.
    async fn release(&self, token: &ClaimToken, release: &Release) -> Result<(), LedgerError>;

    /// Gives up: the handler will not run on this event again unless an operator redrives it.
    ///
    /// # Errors
    ///
    /// [`LedgerError::LeaseLost`] when the claim is no longer ours.
    async fn bury(&self, token: &ClaimToken, reason: &str) -> Result<(), LedgerError>;

    /// The transactions in which a handler's effect and its ledger mark can commit together, if there are any.
    fn transactions(&self) -> Option<&dyn Transactions> {
        None
    }

    /// The store behind this ledger. A bus of the same store grants claims together with its rows.
    fn store_id(&self) -> Option<StoreId> {
        None
    }
}

/// Who asks for which claim, and on what terms.
#[derive(Debug, Clone)]
pub struct ClaimRequest {
    /// Event to be handled.
    pub event_id: EventId,
    /// Name of the handler that is to run.
    pub handler: Arc<str>,
    /// The worker process that asks.
    pub owner: Uuid,
    /// How long the claim is valid unless it is renewed.
    pub lease: Duration,
    /// How many attempts the handler has.
    pub max_attempts: u32,
}

/// The answer to a [`ClaimRequest`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// The handler may run; the attempt is counted.
    Granted(ClaimToken),
    /// The handler has finished this event before.
    Done,
    /// Somebody else works on it, or it is not due again before `until`. No attempt was spent.
    Held {
        /// The end of the other's lease, or the due time.
        until: Timestamp,
    },
    /// The handler has given up on this event.
    Dead,
}

/// Proof of a claim: only its holder can renew, finish or release it.
///
/// (`owner`, `started_at`) is unique per claim, since `started_at` grows with each claim of the same pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimToken {
    /// Event that is being handled.
    pub event_id: EventId,
    /// Name of the handler that runs.
    pub handler: Arc<str>,
    /// The worker process that holds the claim.
    pub owner: Uuid,
    /// When the claim was granted: max(now, that of the previous claim + 1 ms).
    pub started_at: Timestamp,
    /// Which attempt it is, from 1.
    pub attempt: u32,
    /// Until when it is valid unless renewed, as of the grant.
    pub lease_until: Timestamp,
}

/// How a claim is given back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Release {
    /// When the handler is due again.
    pub due: Timestamp,
    /// The failure, if there was one.
    pub error: Option<String>,
    /// Takes the attempt back, for a handler that never started.
    pub refund: bool,
}

/// Why a claim could not be changed.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum LedgerError {
    /// The lease expired and another worker took over, or an operator intervened. Nothing was changed.
    #[error("the claim is no longer ours: its lease expired and it was taken over")]
    LeaseLost,
    /// The store failed; whether the change took effect is unknown, and repeating it is safe.
    #[error(transparent)]
    Store(#[from] StoreError),
}
