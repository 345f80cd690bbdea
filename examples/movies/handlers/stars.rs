//! A movie's reviews in figures, counted anew whenever one of them changes.

use outbox::prelude::*;

use crate::events::{ReviewDeleted, ReviewEdited, ReviewLogged};

/// After a review was written.
#[event_handler(name = "stars_logged")]
pub(crate) async fn stars_logged(event: ReviewLogged, tx: &mut SqliteTx<'_>) -> Result<(), sqlx::Error> {
    recount(tx, &event.movie_id).await
}

/// After a review was changed.
#[event_handler(name = "stars_edited")]
pub(crate) async fn stars_edited(event: ReviewEdited, tx: &mut SqliteTx<'_>) -> Result<(), sqlx::Error> {
    recount(tx, &event.movie_id).await
}

/// After a review was deleted.
#[event_handler(name = "stars_deleted")]
pub(crate) async fn stars_deleted(event: ReviewDeleted, tx: &mut SqliteTx<'_>) -> Result<(), sqlx::Error> {
    recount(tx, &event.movie_id).await
}

async fn recount(tx: &mut SqliteTx<'_>, movie_id: &str) -> Result<(), sqlx::Error> {
    let update = "UPDATE movie SET (reviews, stars) =
                      (SELECT count(*), avg(review.stars) FROM review WHERE review.movie_id = movie.id)
                  WHERE id = ?";
    sqlx::query(update).bind(movie_id).execute(&mut **tx).await?;
    Ok(())
}
