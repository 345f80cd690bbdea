//! Neither a scenario nor a reason.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

#[event_handler(name = "a", idempotency)]
async fn nothing(_: Tick) -> Result<(), String> {
    Ok(())
}

#[event_handler(name = "b", idempotency = "scenario")]
async fn text(_: Tick) -> Result<(), String> {
    Ok(())
}

#[event_handler(name = "c", idempotency(skip))]
async fn no_reason(_: Tick) -> Result<(), String> {
    Ok(())
}

#[event_handler(name = "d", idempotency(skip = " "))]
async fn blank_reason(_: Tick) -> Result<(), String> {
    Ok(())
}

#[event_handler(name = "e", idempotency(skip = "pure", because = "it is"))]
async fn two_reasons(_: Tick) -> Result<(), String> {
    Ok(())
}

#[event_handler(name = "f", idempotency(never))]
async fn not_skip(_: Tick) -> Result<(), String> {
    Ok(())
}

fn main() {}
