//! The suite of behaviour that every backend runs, over SQLite.

#[path = "support/backend.rs"]
mod backend;

outbox_core::conformance_tests!(backend::Sqlite);
