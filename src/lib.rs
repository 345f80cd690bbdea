//! Domain events, written in the transaction of the data that they tell of, and handled once by each of their handlers.
//!
//! ```no_run
//! use outbox::prelude::*;
//!
//! #[derive(serde::Serialize, serde::Deserialize, Event)]
//! #[event(type = "movie.added")]
//! struct MovieAdded {
//!     title: String,
//! }
//!
//! /// Effect and ledger mark commit together.
//! #[event_handler(name = "greeter")]
//! async fn greeter(event: MovieAdded, tx: &mut SqliteTx<'_>) -> sqlx::Result<()> {
//!     sqlx::query("INSERT INTO greeting VALUES (?)").bind(event.title).execute(&mut **tx).await?;
//!     Ok(())
//! }
//!
//! #[tokio::main]
//! async fn main() -> anyhow::Result<()> {
//!     let store = SqliteOutbox::connect("sqlite://app.db").await?;
//!     store.migrate().await?;
//!
//!     let mut tx = store.begin().await?;
//!     sqlx::query("INSERT INTO movie VALUES ('Heat')").execute(&mut *tx).await?;
//!     tx.enqueue(&MovieAdded { title: "Heat".to_owned() }).await?;
//!     tx.commit().await?;
//!
//!     let worker = Worker::builder(store.bus(), store.ledger()).build()?;
//!     worker.run(outbox::shutdown_on_signal()?).await?;
//!     Ok(())
//! }
//! ```
//!
//! * **Writing.** A type that derives [`Event`](macro@Event); [`SqliteOutbox::begin`] or any transaction of sqlx, on which
//!   [`Enqueue`] writes it; [`NewEvent`] for keys, delays and headers.
//! * **Reacting.** [`macro@event_handler`] on a function, or a [`RuntimeHandler`]; [`State`], [`Delivery`] and [`SqliteTx`] as
//!   its arguments; [`HandlerError`] to give up, or to choose the delay.
//! * **Running.** A [`Worker`] with its [`WorkerSettings`]; [`App`] sets up store and worker from the environment.
//! * **Operating.** [`Worker::health`]; [`Admin`] for status, dead letters and the timeline of an event; the names of
//!   logs and metrics in [`telemetry`].
//! * **Testing.** [`MemoryOutbox`] and [`ManualClock`]; [`testing`] for a backend of your own.
//!
//! The guides in the folder `docs` of the repository say more of each.
//!
//! Errors of the database are a [`StoreError`] everywhere, whose [kind](StoreErrorKind) is for decisions and whose source is
//! what the driver said. There are no features to choose. Rust 1.94 or later.

mod app;
mod variables;

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
#[doc = include_str!("../docs/operations.md")]
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
