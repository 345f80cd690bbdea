//! Facade.
pub use outbox_core::*;
