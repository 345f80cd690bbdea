//! Arguments with another kind of value than theirs.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

#[event_handler(name)]
async fn no_value(_: Tick) -> Result<(), String> {
    Ok(())
}

#[event_handler(name = clock)]
async fn no_text(_: Tick) -> Result<(), String> {
    Ok(())
}

#[event_handler("clock")]
async fn no_argument(_: Tick) -> Result<(), String> {
    Ok(())
}

#[event_handler(name = "a", timeout = 30, module = "other", crate = "outbox")]
async fn other_kinds(_: Tick) -> Result<(), String> {
    Ok(())
}

#[event_handler(name = "b" timeout = "30s")]
async fn no_comma(_: Tick) -> Result<(), String> {
    Ok(())
}

fn main() {}
