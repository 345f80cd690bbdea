//! A module of the same name: `module = other` renames the generated one.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

mod clock {}

#[event_handler(name = "clock")]
async fn clock(_: Tick) -> Result<(), String> {
    Ok(())
}

fn main() {}
