//! Names that the ledger does not take.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

#[event_handler(name = "")]
async fn empty(_: Tick) -> Result<(), String> {
    Ok(())
}

#[event_handler(name = "poster sync")]
async fn with_space(_: Tick) -> Result<(), String> {
    Ok(())
}

#[event_handler(name = "PosterSync")]
async fn in_upper_case(_: Tick) -> Result<(), String> {
    Ok(())
}

#[event_handler(name = "0123456789012345678901234567890123456789012345678901234567890123x")]
async fn too_long(_: Tick) -> Result<(), String> {
    Ok(())
}

fn main() {}
