//! A handler inside a function body, where its module cannot see it.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

fn start() {
    #[event_handler(name = "clock")]
    async fn clock(_: Tick) -> Result<(), String> {
        Ok(())
    }
}

fn main() {}
