//! State that cannot be cloned for each run.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

struct Posters;

#[event_handler(name = "clock")]
async fn clock(_: Tick, _: outbox::State<Posters>) -> Result<(), String> {
    Ok(())
}

fn main() {}
