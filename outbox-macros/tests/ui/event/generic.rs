//! A type with parameters.

use outbox::Event;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "a")]
struct Added<T> {
    what: T,
}

fn main() {}
