//! An argument that is given twice.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

#[event_handler(name = "a", lease = "10m", name = "b")]
async fn twice(_: Tick) -> Result<(), String> {
    Ok(())
}

fn main() {}
