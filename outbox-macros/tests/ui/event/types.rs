//! Names that cannot be part of a subject.

use outbox::Event;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "")]
struct Empty;

#[derive(Serialize, Deserialize, Event)]
#[event(type = "movie..added")]
struct EmptyPart;

#[derive(Serialize, Deserialize, Event)]
#[event(type = "movie added")]
struct WithSpace;

#[derive(Serialize, Deserialize, Event)]
#[event(type = "movie.*")]
struct WithStar;

fn main() {}
