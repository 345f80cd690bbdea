//! A transaction in the place of the event.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

#[path = "../../support/tx.rs"]
mod support;
use support::TestTx;

#[event_handler(name = "index")]
async fn index(_: &mut TestTx<'_>, _: Tick) -> Result<(), String> {
    Ok(())
}

fn main() {}
