//! A path of which the compiler does not know the second part.

use outbox::Event;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize)]
struct Movie {
    id: String,
}

#[derive(Serialize, Deserialize, Event)]
#[event(type = "a", key = "movie.name")]
struct Added {
    movie: Movie,
}

fn main() {}
