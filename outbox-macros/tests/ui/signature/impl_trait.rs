//! Arguments without a name for their type.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

#[event_handler(name = "a")]
async fn an_event(_: impl Event) -> Result<(), String> {
    Ok(())
}

#[event_handler(name = "b")]
async fn more(_: Tick, _: outbox::State<impl Clone>, _: &mut impl Send) -> Result<(), String> {
    Ok(())
}

fn main() {}
