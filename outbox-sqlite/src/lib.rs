//! Outbox, queue and ledger of `outbox` on SQLite.
//!
//! * [`SqliteOutbox`] is the store: [`connect`](SqliteOutbox::connect), or [`new`](SqliteOutbox::new) with a pool of the
//!   application's; [`migrate`](SqliteOutbox::migrate); then [`begin`](SqliteOutbox::begin) to write, and
//!   [`bus`](SqliteOutbox::bus) and [`ledger`](SqliteOutbox::ledger) for a worker.
//! * [`Enqueue`](outbox_core::Enqueue) is implemented for sqlx's transactions and for [`SqliteTx`], the store's own.
//! * A handler that takes `&mut SqliteTx<'_>` commits its effect together with its ledger mark.
//!
//! All writes of one store pass one connection, in order; those of other connections and processes meet them at SQLite's
//! lock, as always. So make one store per database and process, and clone it.

mod admin;
mod begin;
mod bus;
mod columns;
mod connect;
mod durability;
mod enqueue;
mod error;
mod file;
mod gate;
mod holder;
mod hooks;
mod ledger;
mod listing;
mod migrate;
mod open;
mod options;
mod pace;
mod retry;
mod store;
mod stranded;
mod subscriber;
mod touched;
mod tx;
mod upkeep;
mod wake;
mod writer;

pub use admin::SqliteAdmin;
pub use bus::SqliteBus;
pub use enqueue::SqliteBackend;
pub use ledger::SqliteLedger;
pub use migrate::{Applied, MigrateError, migrate, migrate_down};
pub use options::{SqliteOptions, Synchronous};
pub use store::SqliteOutbox;
pub use tx::SqliteTx;
