//! See the workspace README.

#[allow(dead_code, reason = "the store opens its pool with it")]
mod connect;
#[allow(dead_code, reason = "the store opens its pool with it")]
mod error;
mod migrate;
#[allow(dead_code, reason = "the store opens its pool with it")]
mod options;
mod retry;

pub use migrate::{Applied, MigrateError, migrate, migrate_down};
pub use options::{SqliteOptions, Synchronous};
