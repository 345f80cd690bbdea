//! An event that is none.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

struct Tock;

#[event_handler(name = "clock")]
async fn clock(_: Tock) -> Result<(), String> {
    Ok(())
}

fn main() {}
