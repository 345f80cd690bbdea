//! Text that is no path of fields.

use outbox::Event;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "a", key = "")]
struct Empty {
    id: String,
}

#[derive(Serialize, Deserialize, Event)]
#[event(type = "b", key = "id()")]
struct Call {
    id: String,
}

#[derive(Serialize, Deserialize, Event)]
#[event(type = "c", key = "01")]
struct Index(String, String);

#[derive(Serialize, Deserialize, Event)]
#[event(type = "d", key = id)]
struct NoText {
    id: String,
}

#[derive(Serialize, Deserialize, Event)]
#[event(type = "e", key = "self")]
struct Myself {
    id: String,
}

fn main() {}
