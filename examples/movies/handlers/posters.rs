//! Posters on disk: an effect that no transaction covers.

use anyhow::Result;
use outbox::prelude::*;

use crate::events::{MovieAdded, MovieDeleted, PosterSynced};
use crate::posters::Posters;

/// Draws the movie's poster unless it is there, and tells that it is.
#[event_handler(name = "poster_sync")]
pub(crate) async fn poster_sync(
    event: MovieAdded,
    State(posters): State<Posters>,
    State(store): State<SqliteOutbox>,
    delivery: Delivery,
) -> Result<()> {
    if let Some(file) = posters.reconcile(&event.movie_id).await? {
        let synced = PosterSynced { movie_id: event.movie_id, file };
        // Derived from the cause, the follow-up's id is the same in every run, so a re-run does not tell it twice.
        store.enqueue_all(vec![NewEvent::new(&synced)?.caused_by(&delivery)]).await?;
    }
    Ok(())
}

/// Records the poster's file with the movie.
#[event_handler(name = "poster_link")]
pub(crate) async fn poster_link(event: PosterSynced, tx: &mut SqliteTx<'_>) -> Result<(), sqlx::Error> {
    let update =
        sqlx::query("UPDATE movie SET poster = ? WHERE id = ?").bind(event.file).bind(event.movie_id);
    update.execute(&mut **tx).await?;
    Ok(())
}

/// Removes the poster of a deleted movie; a missing file is fine.
#[event_handler(name = "image_cleanup")]
pub(crate) async fn image_cleanup(event: MovieDeleted, State(posters): State<Posters>) -> Result<()> {
    posters.reconcile(&event.movie_id).await?;
    Ok(())
}
