//! A function that the worker cannot await.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

#[event_handler(name = "clock")]
fn clock(_: Tick) -> Result<(), String> {
    Ok(())
}

fn main() {}
