//! Attempts that are no number of times.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

#[event_handler(name = "a", max_attempts = 0)]
async fn none(_: Tick) -> Result<(), String> {
    Ok(())
}

#[event_handler(name = "b", max_attempts = 4294967296)]
async fn too_many(_: Tick) -> Result<(), String> {
    Ok(())
}

#[event_handler(name = "c", max_attempts = -1)]
async fn negative(_: Tick) -> Result<(), String> {
    Ok(())
}

#[event_handler(name = "d", max_attempts = "3")]
async fn text(_: Tick) -> Result<(), String> {
    Ok(())
}

fn main() {}
