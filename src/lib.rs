//! Events written in the transaction of the data they tell of, handled once per handler.
//!
//! Everything of the crates `outbox-core` and `outbox-sqlite` in one place; start with the [`prelude`] and
//! [`SqliteOutbox`].

mod app;

pub use app::{App, AppError, AppWorker, shutdown_on_signal};
pub use outbox_core::*;
pub use outbox_sqlite as sqlite;
pub use outbox_sqlite::{
    SqliteAdmin, SqliteBackend, SqliteBus, SqliteLedger, SqliteOptions, SqliteOutbox, SqliteTx, Synchronous,
};

/// So that the README's program is compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// So that the guides' examples are compiled, and run.
#[cfg(doctest)]
#[doc = include_str!("../docs/events.md")]
#[doc = include_str!("../docs/handlers.md")]
#[doc = include_str!("../docs/testing.md")]
struct Guides;

/// What most programs need.
///
/// ```
/// use outbox::prelude::*;
/// ```
pub mod prelude {
    pub use outbox_core::{
        Admin, CancellationToken, Delivery, Enqueue, Event, EventId, HandlerError, NewEvent, RuntimeHandler,
        State, Worker, WorkerSettings, enqueue_events, event_handler,
    };
    pub use outbox_sqlite::{SqliteOutbox, SqliteTx};
}
