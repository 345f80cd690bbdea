//! A method.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

struct Clock;

impl Clock {
    #[event_handler(name = "clock")]
    async fn clock(&self, _: Tick) -> Result<(), String> {
        Ok(())
    }
}

fn main() {}
