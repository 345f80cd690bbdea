//! No argument at all.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

#[event_handler(name = "clock")]
async fn clock() -> Result<(), String> {
    Ok(())
}

fn main() {}
