//! Outbox, queue and ledger of `outbox` on SQLite.
//!
//! Start at [`SqliteOutbox`]; enqueue through [`Enqueue`](outbox_core::Enqueue), which this crate implements for sqlx's
//! transactions; take [`SqliteTx`] in a handler to commit its effect together with its ledger mark.

mod admin;
mod begin;
mod bus;
mod columns;
mod connect;
mod enqueue;
mod error;
mod file;
mod gate;
mod holder;
mod ledger;
mod listing;
mod migrate;
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
