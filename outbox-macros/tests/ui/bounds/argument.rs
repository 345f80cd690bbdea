//! An argument that no delivery has.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

#[event_handler(name = "clock")]
async fn clock(_: Tick, _: u32) -> Result<(), String> {
    Ok(())
}

fn main() {}
