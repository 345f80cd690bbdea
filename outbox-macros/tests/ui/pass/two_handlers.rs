//! Several handlers of one event type in one module, and one function under two names.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

#[event_handler(name = "one")]
async fn one(_: Tick) -> Result<(), String> {
    Ok(())
}

#[event_handler(name = "two")]
async fn two(_: Tick) -> Result<(), String> {
    Ok(())
}

#[event_handler(name = "three")]
#[event_handler(name = "four", module = under_another_name)]
async fn under_two_names(_: Tick) -> Result<(), String> {
    Ok(())
}

fn main() {
    let names: Vec<_> = outbox::Registry::collect().for_event("tick").map(|handler| handler.name()).collect();
    assert_eq!(names, ["four", "one", "three", "two"]);
}
