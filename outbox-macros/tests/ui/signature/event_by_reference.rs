//! An event that is lent.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

#[event_handler(name = "clock")]
async fn clock(_: &Tick) -> Result<(), String> {
    Ok(())
}

fn main() {}
