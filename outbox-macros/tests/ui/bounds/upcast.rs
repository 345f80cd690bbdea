//! An `upcast` with another signature, and one that does not exist.

use outbox::Event;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "a", version = 2, upcast = upcast)]
struct Added;

fn upcast(payload: serde_json::Value) -> serde_json::Value {
    payload
}

#[derive(Serialize, Deserialize, Event)]
#[event(type = "b", version = 2, upcast = typo)]
struct Removed;

fn main() {}
