//! The full-text index, a table of the same database.

use outbox::prelude::*;

use crate::events::{MovieAdded, MovieDeleted};

/// Indexes the movie, if it is still there: a deletion may have been handled first.
#[event_handler(name = "search_index")]
pub(crate) async fn search_index(event: MovieAdded, tx: &mut SqliteTx<'_>) -> Result<(), sqlx::Error> {
    let insert = "INSERT OR REPLACE INTO movie_search (rowid, title, director, genre)
                  SELECT number, title, director, genre FROM movie WHERE id = ?";
    sqlx::query(insert).bind(event.movie_id).execute(&mut **tx).await?;
    Ok(())
}

/// Takes a deleted movie out of the index.
#[event_handler(name = "search_remove")]
pub(crate) async fn search_remove(event: MovieDeleted, tx: &mut SqliteTx<'_>) -> Result<(), sqlx::Error> {
    sqlx::query("DELETE FROM movie_search WHERE rowid = ?").bind(event.number).execute(&mut **tx).await?;
    Ok(())
}
