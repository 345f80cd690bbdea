//! Writing events within the application's own transaction.

use crate::limits::InvalidEvent;
use crate::{Event, EventId, NewEvent, StoreError};

/// What became of an event that was enqueued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Enqueued {
    /// Identity of the event.
    pub id: EventId,
    /// Whether an event with this id was there already; then nothing was written.
    pub duplicate: bool,
}

/// Why an event was not enqueued. The caller's transaction stays usable unless the database itself failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EnqueueError {
    /// The event breaks a rule; see [`limits`](crate::limits).
    #[error(transparent)]
    Invalid(#[from] InvalidEvent),
    /// The connection has no open transaction, so the event would be written apart from the data it tells of.
    #[error(
        "no transaction is open on this connection: begin one (`store.begin()`, or sqlx's `pool.begin_with(\"BEGIN IMMEDIATE\")`), so that the event is written together with the data it tells of, or use `store.enqueue(event)` if no data belongs to it"
    )]
    NoTransaction,
    /// `store.enqueue` was called while this task holds a transaction of the store, which it would wait for.
    #[error(
        "`store.enqueue` while this task holds a transaction would wait for that transaction: use `tx.enqueue(&event)`, which also commits together with what else the transaction writes"
    )]
    InsideTransaction,
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// Enqueues events on an open transaction: they are written if and only if it commits.
///
/// `B` is a marker of the backend, which lets each backend implement the trait for a foreign transaction type; it is
/// inferred.
///
/// Code that writes data and its event takes the transaction of the one store that it works with, such as `SqliteTx`. What
/// only tells of something can do so for every store:
///
/// ```
/// # extern crate outbox_core as outbox;
/// use outbox::{Enqueue, EnqueueError, Event};
///
/// #[derive(serde::Serialize, serde::Deserialize, Event)]
/// #[event(type = "movie.added")]
/// struct MovieAdded {
///     title: String,
/// }
///
/// async fn tell<B>(title: &str, tx: &mut impl Enqueue<B>) -> Result<(), EnqueueError> {
///     let written = tx.enqueue(&MovieAdded { title: title.to_owned() }).await?;
///     println!("{}", written.id); // to be handled once the transaction has committed
///     Ok(())
/// }
/// ```
pub trait Enqueue<B>: Send {
    /// Writes `events`, in order, in one statement (several, if they are very many). A duplicate id is reported and never
    /// aborts the transaction. Returns what became of each, in the same order.
    ///
    /// # Errors
    ///
    /// [`EnqueueError`]; if one event is invalid, none is written.
    fn enqueue_all(
        &mut self,
        events: Vec<NewEvent>,
    ) -> impl Future<Output = Result<Vec<Enqueued>, EnqueueError>> + Send;

    /// Writes one event.
    ///
    /// # Errors
    ///
    /// [`EnqueueError`].
    fn enqueue<E: Event>(
        &mut self,
        event: &E,
    ) -> impl Future<Output = Result<Enqueued, EnqueueError>> + Send {
        let new = NewEvent::new(event);
        async move {
            let enqueued = self.enqueue_all(vec![new?]).await?;
            Ok(enqueued[0])
        }
    }
}

/// Enqueues several events on an open transaction, in order and in one statement.
///
/// # Errors
///
/// [`EnqueueError`]; if one event is invalid, none is written.
///
/// ```
/// use std::time::Duration;
/// use outbox_core::{Enqueue, EnqueueError, NewEvent, enqueue_events};
///
/// async fn remind<B>(tx: &mut impl Enqueue<B>) -> Result<(), EnqueueError> {
///     let now = NewEvent::raw("order.placed", r#"{"order":7}"#);
///     let tomorrow = NewEvent::raw("order.unpaid", r#"{"order":7}"#).after(Duration::from_secs(86_400));
///     enqueue_events(tx, [now, tomorrow]).await?;
///     Ok(())
/// }
/// ```
pub async fn enqueue_events<B, T: Enqueue<B> + ?Sized>(
    transaction: &mut T,
    events: impl IntoIterator<Item = NewEvent>,
) -> Result<Vec<Enqueued>, EnqueueError> {
    transaction.enqueue_all(events.into_iter().collect()).await
}
