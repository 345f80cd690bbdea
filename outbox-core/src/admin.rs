//! What an operator may ask of a store, and do to it.

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;

use crate::{EventId, Explanation, Retention, StoreError, Timestamp, Waiting};

/// Looks into a store and repairs it by hand. Every backend implements it alike.
///
/// Calls that change many rows do so in short steps, so that writers get their turn in between; each returns how many
/// rows it changed.
#[async_trait]
pub trait Admin: Send + Sync + 'static {
    /// Counts per type and state, ages, and what waits for whom.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    async fn status(&self) -> Result<Status, StoreError>;

    /// Dead letters that fit the filter, oldest first, at most `limit`.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    async fn dead_letters(
        &self,
        filter: &DeadLetterFilter,
        limit: usize,
    ) -> Result<Vec<DeadLetter>, StoreError>;

    /// Redrives the dead letters that fit the filter: their handlers run again, with all of their attempts; no other
    /// handler does. Returns how many (event, handler) pairs that are.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; the steps before it have taken effect.
    async fn retry(&self, filter: &DeadLetterFilter) -> Result<u64, StoreError>;

    /// Discards the dead letters that fit the filter: nobody will run them, later events of a blocked key go on, and
    /// the event's row is deleted once no handler is left for it. Returns how many (event, handler) pairs that are.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; the steps before it have taken effect.
    async fn discard(&self, filter: &DeadLetterFilter) -> Result<u64, StoreError>;

    /// Deletes what retention allows, to the end. Returns the deleted queue rows and ledger rows.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; the steps before it have taken effect.
    async fn prune(&self, retention: &Retention) -> Result<Pruned, StoreError>;

    /// One timeline of an event and each of its handlers; `None` if the store does not know the id.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    async fn explain(&self, event_id: EventId) -> Result<Option<Explanation>, StoreError>;

    /// The handlers that events wait for, by type.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    async fn handlers(&self) -> Result<Vec<ListedHandler>, StoreError>;

    /// Retires a handler that no binary has any more: no event waits for it from now on. Returns how many events were
    /// waiting.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    async fn forget_handler(&self, name: &str) -> Result<u64, StoreError>;
}

/// State of an event's queue row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EventState {
    /// Waits for a worker.
    Pending,
    /// In a worker's hands.
    Processing,
    /// Every handler has finished.
    Done,
    /// Every handler has finished or given up, and at least one gave up.
    DeadLettered,
}

impl EventState {
    /// The word that the tables hold.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Processing => "processing",
            Self::Done => "done",
            Self::DeadLettered => "dead_lettered",
        }
    }

    /// The state of that word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Pending, Self::Processing, Self::Done, Self::DeadLettered]
            .into_iter()
            .find(|state| state.as_str() == word)
    }
}

impl fmt::Display for EventState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// State of a handler's work on an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ClaimState {
    /// A worker runs it, or did when its lease began.
    InProgress,
    /// It is due again at some time.
    Released,
    /// It has finished.
    Done,
    /// It has given up.
    Dead,
}

impl ClaimState {
    /// The word that the tables hold.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Released => "released",
            Self::Done => "done",
            Self::Dead => "dead",
        }
    }

    /// The state of that word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::InProgress, Self::Released, Self::Done, Self::Dead]
            .into_iter()
            .find(|state| state.as_str() == word)
    }
}

impl fmt::Display for ClaimState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// How a store is doing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// Events per type and state, by type.
    pub counts: Vec<TypeCount>,
    /// (event, handler) pairs that have given up.
    pub dead_letters: u64,
    /// Creation of the oldest event that is due and not finished.
    pub oldest: Option<Timestamp>,
    /// What unfinished events wait for beside a free worker.
    pub waiting: Vec<Waiting>,
}

impl Status {
    /// How many events are in `state`, over all types.
    #[must_use]
    pub fn count(&self, state: EventState) -> u64 {
        self.counts.iter().filter(|count| count.state == state).map(|count| count.events).sum()
    }
}

/// How many events of a type are in a state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TypeCount {
    /// The type.
    pub event_type: String,
    /// The state.
    pub state: EventState,
    /// How many.
    pub events: u64,
    /// Creation of the oldest of them.
    pub oldest: Option<Timestamp>,
}

/// Which dead letters are meant. The default means all of them; fields narrow it down.
///
/// ```
/// use outbox_core::DeadLetterFilter;
///
/// let posters = DeadLetterFilter { handler: Some("poster_sync".to_owned()), ..DeadLetterFilter::default() };
/// ```
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeadLetterFilter {
    /// Of this event.
    pub event_id: Option<EventId>,
    /// Of this type.
    pub event_type: Option<String>,
    /// Of this handler.
    pub handler: Option<String>,
    /// Whose reason contains this text (case counts).
    pub error_contains: Option<String>,
    /// That have been dead for at least this long.
    pub dead_for: Option<Duration>,
}

/// A handler that has given up on an event, or an event that was dead-lettered as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    /// The event.
    pub event_id: EventId,
    /// Its type.
    pub event_type: String,
    /// Its key.
    pub key: Option<String>,
    /// The handler; `None` if the event was dead-lettered as a whole, as by a relay or for want of any handler.
    pub handler: Option<String>,
    /// Attempts spent.
    pub attempts: u32,
    /// Why.
    pub reason: String,
    /// When it gave up.
    pub died_at: Timestamp,
    /// The payload, as written.
    pub payload: String,
}

/// What a pruning deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Queue rows.
    pub events: u64,
    /// Ledger rows.
    pub claims: u64,
}

/// A handler that a worker has listed for a type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListedHandler {
    /// Event type or pattern.
    pub event_type: String,
    /// Name of the handler.
    pub handler: String,
    /// When a worker listed it first.
    pub first_seen: Timestamp,
    /// When a worker listed it last.
    pub last_seen: Timestamp,
}
