//! Results of another kind.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

#[event_handler(name = "a")]
async fn nothing(_: Tick) -> () {}

#[event_handler(name = "b")]
async fn a_value(_: Tick) -> Result<u32, String> {
    Ok(7)
}

fn main() {}
