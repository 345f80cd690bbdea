//! A version that does not count from 1.

use outbox::Event;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "a", version = 0)]
struct Zero;

#[derive(Serialize, Deserialize, Event)]
#[event(type = "b", version = "1")]
struct Text;

fn main() {}
