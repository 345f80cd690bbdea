//! A type whose fields are not those of every value.

use outbox::Event;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "a", key = "id")]
enum Changed {
    Added { id: String },
    Removed { id: String },
}

fn main() {}
