//! Queue, ledger and administration in memory: the contract without a database.
//!
//! It serves tests of handlers, and it is the contract's executable reference: simple code over small tables that reads
//! like the rules that it stands for. Every look at the tables goes through all of them, so it is not for backlogs of
//! many thousand events.

mod admin;
mod bus;
mod claims;
mod explain;
mod ledger;
mod order;
mod receive;
mod row;
mod settle;
mod store;
mod upkeep;

use std::sync::Arc;
use std::time::Duration;

pub use self::admin::MemoryAdmin;
pub use self::bus::MemoryBus;
pub use self::ledger::MemoryLedger;
use self::store::Store;
use crate::{EnqueueError, Enqueued, Envelope, Event, EventId, Headers, NewEvent, SharedClock, Timestamp};

/// An outbox in memory: queue, ledger and administration over the same tables.
///
/// It keeps the whole contract of a store with a database except what needs one: events are not written in the
/// application's transaction, handlers cannot take a transaction, and everything is gone with the process. Clones are
/// the same outbox.
///
/// ```
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// use outbox_core::{CancellationToken, MemoryOutbox, NewEvent, RuntimeHandler, Worker};
///
/// let store = MemoryOutbox::new();
/// store.enqueue_all(vec![NewEvent::raw("movie.added", r#"{"title":"Heat"}"#)]).await?;
///
/// let shutdown = CancellationToken::new();
/// let handled = shutdown.clone();
/// let worker = Worker::builder(store.bus(), store.ledger())
///     .runtime_handler(RuntimeHandler::new("print", "movie.*", move |payload, _| {
///         let handled = handled.clone();
///         async move {
///             println!("{payload}");
///             handled.cancel();
///             Ok::<(), String>(())
///         }
///     }))
///     .build()?;
/// worker.run(shutdown).await?;
/// # Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(run()).unwrap();
/// ```
#[derive(Debug, Clone)]
pub struct MemoryOutbox {
    store: Arc<Store>,
}

impl MemoryOutbox {
    /// An empty outbox on the clock of the operating system.
    #[must_use]
    pub fn new() -> Self {
        Self { store: Store::new() }
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

    /// The queue, for one worker. Each worker needs a bus of its own, since it says which handlers it has.
    #[must_use]
    pub fn bus(&self) -> MemoryBus {
        MemoryBus::of(&self.store)
    }

    /// The ledger.
    #[must_use]
    pub fn ledger(&self) -> MemoryLedger {
        MemoryLedger::of(&self.store)
    }

    /// What an operator may ask and do.
    #[must_use]
    pub fn admin(&self) -> MemoryAdmin {
        MemoryAdmin::of(&self.store)
    }

    /// Enqueues one event.
    ///
    /// # Errors
    ///
    /// [`EnqueueError::Invalid`].
    #[allow(clippy::unused_async, reason = "stores with a database wait here")]
    pub async fn enqueue<E: Event>(&self, event: &E) -> Result<Enqueued, EnqueueError> {
        let written = self.write(vec![NewEvent::new(event)?])?;
        Ok(written[0])
    }

    /// Enqueues several events, in order.
    ///
    /// # Errors
    ///
    /// [`EnqueueError::Invalid`]; if one event is invalid, none is written.
    #[allow(clippy::unused_async, reason = "stores with a database wait here")]
    pub async fn enqueue_all(&self, events: Vec<NewEvent>) -> Result<Vec<Enqueued>, EnqueueError> {
        self.write(events)
    }

    fn write(&self, events: Vec<NewEvent>) -> Result<Vec<Enqueued>, EnqueueError> {
        self.store.change(|tables, now| {
            let ready: Vec<_> = events.into_iter().map(|event| event.ready(now)).collect::<Result<_, _>>()?;
            let written = ready.into_iter().map(|event| {
                let id = event.envelope.id;
                Enqueued { id, duplicate: !tables.insert(Some(id), event.envelope, event.available_at) }
            });
            Ok(written.collect())
        })
    }

    /// Writes an event as a foreign writer's bare `INSERT` of type and payload does: without an id, unchecked. It gets
    /// an id when it is first claimed.
    pub fn insert_foreign(&self, event_type: impl Into<String>, payload: impl Into<String>) {
        self.store.change(|tables, now| {
            let envelope = Envelope {
                id: EventId::from(uuid::Uuid::nil()),
                event_type: event_type.into(),
                version: 1,
                key: None,
                payload: payload.into(),
                headers: Headers::new(),
                occurred_at: now,
            };
            tables.insert(None, envelope, now)
        });
    }

    /// The present moment on the outbox's clock.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.store.tables().now()
    }
}

impl Default for MemoryOutbox {
    fn default() -> Self {
        Self::new()
    }
}
