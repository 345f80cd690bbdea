//! The module is there when the function is.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

#[event_handler(name = "absent")]
#[cfg(any())]
async fn absent(_: DoesNotExist) -> Result<(), String> {
    Ok(())
}

#[event_handler(name = "conditionally_absent")]
#[cfg_attr(all(), inline, cfg(any()))]
async fn conditionally_absent(_: DoesNotExist) -> Result<(), String> {
    Ok(())
}

#[cfg(any())]
#[event_handler(name = "absent_before")]
async fn absent_before(_: DoesNotExist) -> Result<(), String> {
    Ok(())
}

#[event_handler(name = "present")]
#[cfg_attr(all(), inline)]
#[cfg(all())]
async fn present(_: Tick) -> Result<(), String> {
    Ok(())
}

fn main() {
    let names: Vec<_> = outbox::Registry::collect().iter().map(|handler| handler.name()).collect();
    assert_eq!(names, ["present"]);
}
