//! A handler with every argument of the attribute.

use outbox::{Delivery, HandlerError, State};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, outbox::Event)]
#[event(type = "movie.added", key = "movie_id")]
pub struct MovieAdded {
    pub movie_id: String,
}

#[derive(Clone)]
pub struct Posters;

/// Fetches the poster once per movie.
#[outbox::event_handler(
    name = "poster_sync",
    idempotency(skip = "the poster's file name is the movie's id"),
    timeout = "30s",
    max_attempts = 5,
    lease = "1500ms",
    on_dead = "block"
)]
pub async fn poster_sync(
    event: MovieAdded,
    State(posters): State<Posters>,
    delivery: Delivery,
) -> Result<(), HandlerError> {
    let _ = (event.movie_id, posters, delivery.attempt);
    Ok(())
}

fn main() {}
