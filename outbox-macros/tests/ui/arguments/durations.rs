//! Durations without a unit, of none, and of too much.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

#[event_handler(name = "a", timeout = "30")]
async fn no_unit(_: Tick) -> Result<(), String> {
    Ok(())
}

#[event_handler(name = "b", timeout = "0s", lease = "1d")]
async fn nothing_and_days(_: Tick) -> Result<(), String> {
    Ok(())
}

#[event_handler(name = "c", lease = "99999999999999999999h")]
async fn too_long(_: Tick) -> Result<(), String> {
    Ok(())
}

#[event_handler(name = "d", timeout = "25h", lease = "50ms")]
async fn beyond_what_a_worker_takes(_: Tick) -> Result<(), String> {
    Ok(())
}

fn main() {}
