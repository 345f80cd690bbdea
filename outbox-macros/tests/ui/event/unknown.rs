//! An argument that does not exist.

use outbox::Event;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "a", name = "b")]
struct Unknown;

fn main() {}
