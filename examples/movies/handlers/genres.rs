//! Counters per genre. A counter that is incremented twice is wrong, so each change commits together with its ledger mark.

use outbox::prelude::*;

use crate::catalogue::shown_genre;
use crate::events::{MovieAdded, MovieDeleted, WatchlistChanged};

/// Counts a movie that came.
#[event_handler(name = "genre_stats")]
pub(crate) async fn genre_stats(event: MovieAdded, tx: &mut SqliteTx<'_>) -> Result<(), sqlx::Error> {
    count(tx, event.genre.as_deref(), Change { movies: 1, wanted: 0 }).await
}

/// Counts a movie that went.
#[event_handler(name = "genre_stats_remove")]
pub(crate) async fn genre_stats_remove(
    event: MovieDeleted,
    tx: &mut SqliteTx<'_>,
) -> Result<(), sqlx::Error> {
    count(tx, event.genre.as_deref(), Change { movies: -1, wanted: 0 }).await
}

/// Counts a movie that came onto the watchlist or left it.
#[event_handler(name = "genre_wanted")]
pub(crate) async fn genre_wanted(event: WatchlistChanged, tx: &mut SqliteTx<'_>) -> Result<(), sqlx::Error> {
    let wanted = if event.listed { 1 } else { -1 };
    count(tx, event.genre.as_deref(), Change { movies: 0, wanted }).await
}

struct Change {
    movies: i64,
    wanted: i64,
}

/// Sums do not depend on the order in which they are added, so a deletion that is handled before its addition does no harm.
async fn count(tx: &mut SqliteTx<'_>, genre: Option<&str>, change: Change) -> Result<(), sqlx::Error> {
    let upsert = "INSERT INTO genre_stats (genre, movies, wanted) VALUES (?, ?, ?)
                  ON CONFLICT (genre) DO UPDATE SET movies = movies + excluded.movies, wanted = wanted + excluded.wanted";
    let upsert = sqlx::query(upsert).bind(shown_genre(genre)).bind(change.movies).bind(change.wanted);
    upsert.execute(&mut **tx).await?;
    Ok(())
}
