//! An argument that does not exist.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

#[event_handler(name = "a", retries = 5)]
async fn unknown(_: Tick) -> Result<(), String> {
    Ok(())
}

fn main() {}
