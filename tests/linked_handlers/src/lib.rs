//! A crate of handlers as an application may have one, which its binary only names.

mod mail {
    //! A module of its own, so that no file of the crate is named by another.

    use outbox::prelude::*;

    use super::Registered;

    /// Sends nothing.
    #[event_handler(name = "linked_mail", idempotency(skip = "a tool of the tests"))]
    pub async fn linked_mail(_: Registered) -> Result<(), String> {
        Ok(())
    }
}

use outbox::prelude::*;
use serde::{Deserialize, Serialize};

/// Somebody has registered.
#[derive(Serialize, Deserialize, Event)]
#[event(type = "user.registered")]
pub struct Registered {}

/// Counts nothing.
#[event_handler(name = "linked_count", idempotency(skip = "a tool of the tests"))]
pub async fn linked_count(_: Registered) -> Result<(), String> {
    Ok(())
}

pub use mail::linked_mail;
