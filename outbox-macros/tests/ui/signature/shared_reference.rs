//! Arguments that are lent.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

#[path = "../../support/tx.rs"]
mod support;
use support::TestTx;

#[event_handler(name = "a")]
async fn of_text(_: Tick, _: &str) -> Result<(), String> {
    Ok(())
}

#[event_handler(name = "b")]
async fn of_transaction(_: Tick, _: &TestTx<'_>) -> Result<(), String> {
    Ok(())
}

fn main() {}
