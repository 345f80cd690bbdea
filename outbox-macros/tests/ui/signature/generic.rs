//! Parameters, which nobody could choose.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

#[event_handler(name = "a")]
async fn of_type<E: Event>(_: E) -> Result<(), String> {
    Ok(())
}

#[event_handler(name = "b")]
async fn of_lifetime<'a>(_: Tick) -> Result<(), String>
where
    Tick: 'a,
{
    Ok(())
}

fn main() {}
