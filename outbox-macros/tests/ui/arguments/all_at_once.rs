//! All mistakes of attribute and function are reported at once, and nothing else: `HANDLER` can be named.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

#[event_handler(nam = "clock", timeout = "soon", lease = "10m", max_attempts = 0)]
fn clock(_: &Tick) {}

fn main() {
    let _ = &clock::HANDLER;
}
