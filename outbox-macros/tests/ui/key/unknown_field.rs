//! A key that is no field.

use outbox::Event;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "a", key = "id")]
struct Added {
    movie_id: String,
    r#type: String,
}

#[derive(Serialize, Deserialize, Event)]
#[event(type = "b", key = "2")]
struct Rated(String, u8);

#[derive(Serialize, Deserialize, Event)]
#[event(type = "c", key = "id")]
struct Tick;

fn main() {}
