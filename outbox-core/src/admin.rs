//! What an operator may ask of a store, and do to it.

use std::time::Duration;

use async_trait::async_trait;

use crate::{EventId, EventState, Explanation, Retention, StoreError, Timestamp, Waiting};

/// Looks into a store and repairs it by hand. Every backend implements it alike.
///
/// Calls that change many rows do so in short steps, so that writers get their turn in between; each returns how many
/// rows it changed.
///
/// ```
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// use outbox_core::{Admin, DeadLetterFilter, EventState, MemoryOutbox, NewEvent};
///
/// let store = MemoryOutbox::new();
/// let id = store.enqueue_all(vec![NewEvent::raw("movie.added", "{}")]).await?[0].id;
///
/// let admin = store.admin();
/// assert_eq!(admin.status().await?.count(EventState::Pending), 1);
/// let explanation = admin.explain(id).await?.ok_or("unknown")?;
/// assert!(explanation.to_string().contains("waits for any handler of movie.added"));
///
/// let posters = DeadLetterFilter { handler: Some("poster_sync".to_owned()), ..DeadLetterFilter::default() };
/// for letter in admin.dead_letters(&posters, 100).await? {
///     println!("{} after {} attempts: {}", letter.event_id, letter.attempts, letter.reason);
/// }
/// assert_eq!(admin.retry(&posters).await?, 0);
/// # Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(run()).unwrap();
/// ```
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

    /// Retires a handler that no binary has any more: no event waits for it from now on. Those that others have finished are
    /// done; where it was the only one of their type, they wait for any. Returns how many events were waiting.
    ///
    /// # Errors
    ///
    /// [`StoreError`].
    async fn forget_handler(&self, name: &str) -> Result<u64, StoreError>;
}

/// How a store is doing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Status {
    /// Events per type and state, in the order of types; what is none is not listed.
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
    /// Type of the events.
    pub event_type: String,
    /// State that they are in.
    pub state: EventState,
    /// How many there are, at least one.
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
    /// Those of this event.
    pub event_id: Option<EventId>,
    /// Those of events of exactly this type; not a pattern.
    pub event_type: Option<String>,
    /// Those of this handler. Events that were dead-lettered as a whole have none.
    pub handler: Option<String>,
    /// Those whose reason contains this text; upper and lower case differ.
    pub error_contains: Option<String>,
    /// Those that have been dead for at least this long.
    pub dead_for: Option<Duration>,
}

/// A handler that has given up on an event, or an event that was dead-lettered as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeadLetter {
    /// Identity of the event.
    pub event_id: EventId,
    /// Type of the event.
    pub event_type: String,
    /// Key within which its order is kept.
    pub key: Option<String>,
    /// The handler; `None` if the event was dead-lettered as a whole, as by a relay or for want of any handler.
    pub handler: Option<String>,
    /// Attempts spent by the handler; of an event as a whole, those that a relay counted.
    pub attempts: u32,
    /// The last failure, with its causes.
    pub reason: String,
    /// When it gave up.
    pub died_at: Timestamp,
    /// The payload, as written.
    pub payload: String,
}

/// What a pruning deleted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Pruned {
    /// Rows of the queue.
    pub events: u64,
    /// Rows of the ledger.
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
