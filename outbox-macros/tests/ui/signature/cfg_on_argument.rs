//! An argument that is there in some builds.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

#[event_handler(name = "clock")]
async fn clock(_: Tick, #[cfg(unix)] _: outbox::Delivery) -> Result<(), String> {
    Ok(())
}

fn main() {}
