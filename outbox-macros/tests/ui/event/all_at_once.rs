//! All mistakes are reported at once, and nothing else: the type is still an event.

use outbox::Event;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "movie added", key = "id", version = 0)]
struct Added {
    movie_id: u64,
}

fn publish(event: &Added) -> Result<outbox::NewEvent, outbox::InvalidEvent> {
    outbox::NewEvent::new(event)
}

fn main() {}
