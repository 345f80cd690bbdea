//! The least that an author can write, with the library under another name.

extern crate outbox as renamed;

use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, renamed::Event)]
#[event(type = "tick", crate = crate::renamed)]
struct Tick;

#[renamed::event_handler(name = "clock", module = clock_handler, crate = self::renamed)]
#[cfg(not(windows))]
async fn clock(_: Tick) -> Result<(), String> {
    Ok(())
}

fn main() {}
