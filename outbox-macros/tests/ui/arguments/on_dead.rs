//! A policy that does not exist.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

#[event_handler(name = "a", on_dead = "stop")]
async fn stop(_: Tick) -> Result<(), String> {
    Ok(())
}

fn main() {}
