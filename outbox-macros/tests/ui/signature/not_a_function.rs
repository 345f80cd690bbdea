//! Something that is no function.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

#[event_handler(name = "a")]
struct Clock;

#[event_handler(name = "b")]
mod clock {}

#[event_handler(name = "c")]
static CLOCK: Tick = Tick;

fn main() {}
