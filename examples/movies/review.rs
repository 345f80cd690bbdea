//! `review log|edit|delete`: each command is one transaction that changes the tables and tells of it.

use anyhow::{Context, Result};
use outbox::prelude::*;

use crate::events::{MovieDeleted, ReviewDeleted, ReviewEdited, ReviewLogged, WatchlistChanged};

/// Logs a review of the movie and returns the review's number.
pub(crate) async fn log(store: &SqliteOutbox, movie_id: &str, stars: u8, text: &str) -> Result<i64> {
    let mut tx = store.begin().await?;
    require_movie(&mut tx, movie_id).await?;
    let insert = "INSERT INTO review (movie_id, stars, text) VALUES (?, ?, ?) RETURNING number";
    let insert = sqlx::query_scalar(insert).bind(movie_id).bind(stars).bind(text);
    let review = insert.fetch_one(&mut *tx).await?;
    tx.enqueue(&ReviewLogged { movie_id: movie_id.to_owned(), review, stars }).await?;
    tx.commit().await?;
    Ok(review)
}

/// Changes a review; what is not given stays.
pub(crate) async fn edit(
    store: &SqliteOutbox,
    review: i64,
    stars: Option<u8>,
    text: Option<&str>,
) -> Result<()> {
    let mut tx = store.begin().await?;
    let update = "UPDATE review SET stars = coalesce(?, stars), text = coalesce(?, text) WHERE number = ?
                  RETURNING movie_id, stars";
    let update = sqlx::query_as(update).bind(stars).bind(text).bind(review);
    let (movie_id, stars) = update.fetch_optional(&mut *tx).await?.with_context(|| unknown(review))?;
    tx.enqueue(&ReviewEdited { movie_id, review, stars }).await?;
    tx.commit().await?;
    Ok(())
}

/// Deletes a review; returns the movie's id if it went, too, because this was its last review.
pub(crate) async fn delete(store: &SqliteOutbox, review: i64) -> Result<Option<String>> {
    let mut tx = store.begin().await?;
    let delete = sqlx::query_scalar("DELETE FROM review WHERE number = ? RETURNING movie_id").bind(review);
    let movie_id: String = delete.fetch_optional(&mut *tx).await?.with_context(|| unknown(review))?;
    tx.enqueue(&ReviewDeleted { movie_id: movie_id.clone(), review }).await?;
    let left = sqlx::query_scalar("SELECT count(*) FROM review WHERE movie_id = ?").bind(&movie_id);
    let left: i64 = left.fetch_one(&mut *tx).await?;
    if left == 0 {
        delete_movie(&mut tx, &movie_id).await?;
    }
    tx.commit().await?;
    Ok((left == 0).then_some(movie_id))
}

/// Deletes the movie with its place on the watchlist, and tells of both in the caller's transaction.
async fn delete_movie(tx: &mut SqliteTx<'_>, movie_id: &str) -> Result<()> {
    let unlisted =
        sqlx::query("DELETE FROM watchlist WHERE movie_id = ?").bind(movie_id).execute(&mut **tx).await?;
    let delete = sqlx::query_as("DELETE FROM movie WHERE id = ? RETURNING number, genre").bind(movie_id);
    let (number, genre): (i64, Option<String>) = delete.fetch_one(&mut **tx).await?;
    let movie_id = movie_id.to_owned();
    if unlisted.rows_affected() > 0 {
        let event = WatchlistChanged { movie_id: movie_id.clone(), genre: genre.clone(), listed: false };
        tx.enqueue(&event).await?;
    }
    tx.enqueue(&MovieDeleted { movie_id, number, genre }).await?;
    Ok(())
}

/// Fails if there is no such movie; returns its genre otherwise.
pub(crate) async fn require_movie(tx: &mut SqliteTx<'_>, movie_id: &str) -> Result<Option<String>> {
    let select = sqlx::query_scalar("SELECT genre FROM movie WHERE id = ?").bind(movie_id);
    let genre = select.fetch_optional(&mut **tx).await?;
    genre.with_context(|| format!("there is no movie `{movie_id}`; `search` shows the ids"))
}

fn unknown(review: i64) -> String {
    format!("there is no review {review}")
}
