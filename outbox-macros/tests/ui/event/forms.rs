//! Attributes that are no list.

use outbox::Event;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event]
struct Bare;

#[derive(Serialize, Deserialize, Event)]
#[event = "movie.added"]
struct Value;

fn main() {}
