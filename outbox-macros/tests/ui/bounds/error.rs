//! An error that is none.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

struct Failure;

#[event_handler(name = "clock")]
async fn clock(_: Tick) -> Result<(), Failure> {
    Ok(())
}

fn main() {}
