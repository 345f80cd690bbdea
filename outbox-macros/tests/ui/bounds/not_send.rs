//! A future that cannot move between threads.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

use std::rc::Rc;

#[event_handler(name = "clock")]
async fn clock(_: Tick) -> Result<(), String> {
    let count = Rc::new(1);
    std::future::ready(()).await;
    drop(count);
    Ok(())
}

fn main() {}
