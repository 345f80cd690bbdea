//! An `upcast` to the first version.

use outbox::Event;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "a", upcast = upcast)]
struct Added;

fn upcast(_: u32, payload: serde_json::Value) -> Result<serde_json::Value, outbox::UpcastError> {
    Ok(payload)
}

fn main() {}
