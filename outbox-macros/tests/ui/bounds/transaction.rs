//! A reference to something that is no transaction.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

#[event_handler(name = "clock")]
async fn clock(_: Tick, _: &mut String) -> Result<(), String> {
    Ok(())
}

fn main() {}
