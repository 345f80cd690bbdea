//! A transaction that would outlive its run.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

#[path = "../../support/tx.rs"]
mod support;
use support::TestTx;

#[event_handler(name = "index")]
async fn index(_: Tick, _: &'static mut TestTx<'_>) -> Result<(), String> {
    Ok(())
}

fn main() {}
