//! A field that is no key.

use outbox::Event;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "a", key = "ratings")]
struct Rated {
    ratings: Vec<f64>,
}

fn main() {}
