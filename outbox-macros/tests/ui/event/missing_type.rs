//! An event without a name.

use outbox::Event;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
struct Bare;

#[derive(Serialize, Deserialize, Event)]
#[event(version = 2)]
struct Nameless;

fn main() {}
