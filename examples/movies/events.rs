//! What happens in this application. The names are stored, so they outlive the types.

use outbox::prelude::*;
use serde::{Deserialize, Serialize};

/// A movie came into the catalogue.
#[derive(Serialize, Deserialize, Event)]
#[event(type = "movie.added", version = 1, key = "movie_id")]
pub(crate) struct MovieAdded {
    pub(crate) movie_id: String,
    pub(crate) genre: Option<String>,
}

/// A movie left the catalogue, and with it its number and its place on the watchlist.
#[derive(Serialize, Deserialize, Event)]
#[event(type = "movie.deleted", version = 1, key = "movie_id")]
pub(crate) struct MovieDeleted {
    pub(crate) movie_id: String,
    pub(crate) number: i64,
    pub(crate) genre: Option<String>,
}

/// A movie's poster lies on disk.
#[derive(Serialize, Deserialize, Event)]
#[event(type = "poster.synced", version = 1, key = "movie_id")]
pub(crate) struct PosterSynced {
    pub(crate) movie_id: String,
    pub(crate) file: String,
}

/// A review was written.
#[derive(Serialize, Deserialize, Event)]
#[event(type = "review.logged", version = 1, key = "movie_id")]
pub(crate) struct ReviewLogged {
    pub(crate) movie_id: String,
    pub(crate) review: i64,
    pub(crate) stars: u8,
}

/// A review was changed.
#[derive(Serialize, Deserialize, Event)]
#[event(type = "review.edited", version = 1, key = "movie_id")]
pub(crate) struct ReviewEdited {
    pub(crate) movie_id: String,
    pub(crate) review: i64,
    pub(crate) stars: u8,
}

/// A review was deleted. If it was the movie's last one, `movie.deleted` follows from the same transaction.
#[derive(Serialize, Deserialize, Event)]
#[event(type = "review.deleted", version = 1, key = "movie_id")]
pub(crate) struct ReviewDeleted {
    pub(crate) movie_id: String,
    pub(crate) review: i64,
}

/// A movie came onto the watchlist, or left it.
#[derive(Serialize, Deserialize, Event)]
#[event(type = "watchlist.changed", version = 1, key = "movie_id")]
pub(crate) struct WatchlistChanged {
    pub(crate) movie_id: String,
    pub(crate) genre: Option<String>,
    pub(crate) listed: bool,
}
