//! A type that cannot be stored.

use outbox::Event;

#[derive(Event)]
#[event(type = "a")]
struct Added;

fn main() {}
