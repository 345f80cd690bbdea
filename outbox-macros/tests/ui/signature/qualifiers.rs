//! Functions that the worker cannot call.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

#[event_handler(name = "a")]
async unsafe fn not_safe(_: Tick) -> Result<(), String> {
    Ok(())
}

#[event_handler(name = "b")]
async extern "C" fn foreign(_: Tick) -> Result<(), String> {
    Ok(())
}

fn main() {}
