//! `watchlist add|remove`.

use anyhow::Result;
use outbox::prelude::*;

use crate::events::WatchlistChanged;
use crate::review::require_movie;

/// Puts the movie onto the watchlist (`listed`) or takes it off; returns whether that changed anything.
pub(crate) async fn set(store: &SqliteOutbox, movie_id: &str, listed: bool) -> Result<bool> {
    let mut tx = store.begin().await?;
    let genre = require_movie(&mut tx, movie_id).await?;
    let change = match listed {
        true => "INSERT INTO watchlist (movie_id) VALUES (?) ON CONFLICT DO NOTHING",
        false => "DELETE FROM watchlist WHERE movie_id = ?",
    };
    let changed = sqlx::query(change).bind(movie_id).execute(&mut *tx).await?.rows_affected() > 0;
    // Nothing happened, so there is nothing to tell.
    if changed {
        tx.enqueue(&WatchlistChanged { movie_id: movie_id.to_owned(), genre, listed }).await?;
    }
    tx.commit().await?;
    Ok(changed)
}
