//! What carries events: a database queue or a broker.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use uuid::Uuid;

use crate::{ClaimToken, Envelope, StoreError, Timestamp};

/// Takes events: a queue, a broker, a remote endpoint.
#[async_trait]
pub trait Publisher: Send + Sync + 'static {
    /// Hands over `events` and says for each, in order, whether it was durably taken. An event that was taken before
    /// (same id) counts as taken.
    async fn publish(&self, events: &[Envelope]) -> Vec<Result<(), PublishError>>;
}

/// Why an event was not taken.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum PublishError {
    /// Whether it was taken is unknown; publishing it again is right.
    #[error(transparent)]
    Transport(StoreError),
    /// It will never be taken as it is.
    #[error("refused for good: {reason}")]
    Refused {
        /// Why.
        reason: String,
    },
}

/// Carries events to workers, each until it is settled.
///
/// An event that was received and is neither settled nor extended is delivered again after the bus's own lease. A bus
/// keeps the order of a key: it does not deliver an event to a handler before that handler has finished the earlier
/// ones of the key.
#[async_trait]
pub trait Bus: Publisher {
    /// Says which handlers this bus is to deliver for, before the first [`receive`](Bus::receive). A database queue
    /// lists them, so that a row counts as done only when every listed handler of its type has finished.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; nothing was subscribed.
    async fn subscribe(&self, subscription: Subscription) -> Result<(), StoreError>;

    /// Takes what is due, without waiting: as many events as come with at most `max` handler runs.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; nothing was received, or it comes again after the lease.
    async fn receive(&self, max: usize) -> Result<Vec<Received>, StoreError>;

    /// Says what became of received events. A receipt whose event was taken over meanwhile is ignored.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; repeating the call is safe.
    async fn settle(&self, settlements: Vec<(Receipt, Settlement)>) -> Result<(), StoreError>;

    /// Keeps received events from being delivered to anybody else for another lease.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; the lease ends when it ends.
    async fn extend(&self, receipts: &[Receipt]) -> Result<(), StoreError>;

    /// Says that one of several handlers has finished with an event that is still in hand for the others, so that it may
    /// get later events of the key at once. The default does nothing: they come when the event is settled.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; they come when the event is settled.
    async fn progressed(&self, receipt: &Receipt) -> Result<(), StoreError> {
        let _ = receipt;
        Ok(())
    }

    /// Returns when there may be something to receive. A signal that comes between two calls is not lost. The default
    /// never returns: the worker polls.
    async fn wake(&self) {
        std::future::pending::<()>().await;
    }

    /// When the next event that is not yet due will be, as far as is known.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        Ok(None)
    }

    /// Regular upkeep: deletes what retention allows, deals with types that nobody handles, and reports what waits.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; what was not done is done at the next call.
    async fn maintain(&self, upkeep: &Upkeep) -> Result<UpkeepReport, StoreError> {
        let _ = upkeep;
        Ok(UpkeepReport::default())
    }

    /// The store behind this bus; see [`Ledger::store_id`](crate::Ledger::store_id).
    fn store_id(&self) -> Option<StoreId> {
        None
    }

    /// For how long a received event stays ours unless it is extended.
    fn lease(&self) -> Duration;
}

/// Names one store within a process, so that a bus and a ledger can tell that they share it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StoreId(Uuid);

impl StoreId {
    /// A new, unique id.
    #[must_use]
    #[allow(clippy::new_without_default, reason = "a default that differs each time misleads")]
    pub fn new() -> Self {
        Self(Uuid::new_v4())
    }
}

/// The handlers of one worker, as its bus needs to know them.
#[derive(Debug, Clone)]
pub struct Subscription {
    /// Id of the worker process, as it stands in its claims.
    pub owner: Uuid,
    /// What it can run.
    pub handlers: Vec<SubscribedHandler>,
    /// Whether the worker's ledger is of this bus's own store. The bus then claims in the ledger as it receives, and
    /// fills [`Received::claims`].
    pub grant_claims: bool,
}

/// One handler of a [`Subscription`].
#[derive(Debug, Clone)]
pub struct SubscribedHandler {
    /// Name of the handler.
    pub name: Arc<str>,
    /// Event type, or a pattern in which `*` stands for any characters: `mlc.*`.
    pub event_type: Arc<str>,
    /// The highest version of the event that it knows.
    pub max_version: u32,
    /// How many attempts it has.
    pub max_attempts: u32,
    /// Lease of its claims.
    pub lease: Duration,
    /// What its dead letters mean for later events of their key.
    pub on_dead: OnDead,
}

/// What a dead letter means for the later events of its key, for the handler that gave up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnDead {
    /// They go on.
    #[default]
    Continue,
    /// They wait until an operator redrives or discards it.
    Block,
}

/// An event in our hands.
#[derive(Debug, Clone)]
pub struct Received {
    /// What was published.
    pub envelope: Arc<Envelope>,
    /// What to settle it with.
    pub receipt: Receipt,
    /// Claims that the bus has granted along with the event (see [`Subscription::grant_claims`]): exactly these
    /// handlers are to run. `None`: the worker asks its ledger for every handler of the type.
    pub claims: Option<Vec<ClaimToken>>,
}

/// Proof that an event was received; opaque to everybody but its bus.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Receipt {
    /// The bus's own name of the message: a row's number, a reply subject.
    pub message: Arc<str>,
    /// Guards against a delivery that was taken over meanwhile.
    pub token: Arc<str>,
}

/// What became of a received event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Settlement {
    /// Every handler that this worker has for it has finished.
    Done,
    /// At least one handler failed and is due again at `at`.
    Retry {
        /// The earliest due time.
        at: Timestamp,
        /// The failure of one of them, for the row's `last_error`.
        error: String,
    },
    /// Nothing was tried; it is to come again at `until`. Spends no attempt.
    Defer {
        /// When to deliver it again at the earliest.
        until: Timestamp,
    },
    /// It is to be dead-lettered as a whole.
    Dead {
        /// Why.
        reason: String,
    },
}

/// What regular upkeep is to do.
#[derive(Debug, Clone)]
pub struct Upkeep {
    /// What to do with events of types that nobody handles.
    pub unhandled: Unhandled,
    /// How long finished things are kept.
    pub retention: Retention,
}

/// What to do with events of types that no handler is listed for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Unhandled {
    /// They wait for a worker that handles them.
    #[default]
    Wait,
    /// They count as done.
    Discard,
    /// They are dead-lettered.
    DeadLetter,
}

/// How long finished things are kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Retention {
    /// Done queue rows. Default 7 days.
    pub done: Duration,
    /// Dead-lettered queue rows. Default 90 days.
    pub dead: Duration,
    /// Ledger rows. Default 30 days. A ledger row stays as long as an unfinished or dead queue row has its id.
    pub ledger: Duration,
}

impl Default for Retention {
    fn default() -> Self {
        const DAY: Duration = Duration::from_secs(86_400);
        Self { done: 7 * DAY, dead: 90 * DAY, ledger: 30 * DAY }
    }
}

/// What upkeep did and saw.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct UpkeepReport {
    /// Queue rows deleted.
    pub pruned_events: u64,
    /// Ledger rows deleted.
    pub pruned_claims: u64,
    /// Types with events that go on waiting, since no handler is listed for them.
    pub unhandled_types: Vec<String>,
    /// Handlers that this worker does not have and that rows wait for, with the number of rows; see
    /// [`WaitReason::Handler`](crate::WaitReason::Handler).
    pub waiting_for: Vec<(String, u64)>,
    /// Rows that were discarded or dead-lettered because nobody handles them.
    pub unhandled_rows: u64,
    /// Rows that are due and in nobody's hands.
    pub backlog: u64,
    /// Since when the oldest of them has been due.
    pub oldest: Option<Timestamp>,
    /// Whether there is more to do at once.
    pub more: bool,
}
