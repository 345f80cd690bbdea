//! The handler whose expansion `docs/handlers.md` shows.

use outbox::State;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, outbox::Event)]
#[event(type = "movie.added")]
pub struct MovieAdded {
    pub movie_id: String,
}

#[derive(Clone)]
pub struct Posters;

impl Posters {
    async fn fetch(&self, _movie_id: &str) -> Result<(), std::io::Error> {
        Ok(())
    }
}

#[outbox::event_handler(name = "poster_sync", timeout = "30s")]
pub async fn poster_sync(event: MovieAdded, State(posters): State<Posters>) -> Result<(), std::io::Error> {
    posters.fetch(&event.movie_id).await
}

fn main() {}
