//! A handler without a name.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

#[event_handler]
async fn bare(_: Tick) -> Result<(), String> {
    Ok(())
}

#[event_handler(timeout = "30s")]
async fn nameless(_: Tick) -> Result<(), String> {
    Ok(())
}

fn main() {}
