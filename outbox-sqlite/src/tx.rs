//! The store's transaction, of a handler or of the application.

use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use outbox_core::{
    Delivery, Enqueue, EnqueueError, Enqueued, HandlerTransaction, LedgerError, NewEvent, SharedClock,
    StoreError, StoreErrorKind, async_trait,
};
use sqlx::Connection;
use sqlx::sqlite::{SqliteConnection, SqliteTransactionManager};
// sqlx keeps this trait out of its root.
use sqlx_core::transaction::TransactionManager;

use crate::enqueue::{SqliteBackend, insert};
use crate::error::store_error;
use crate::gate::{PATIENCE, Pass};
use crate::wake::WakeHub;

/// An open transaction that has taken its turn among all writers of its store. It dereferences to the sqlx connection.
///
/// While it is open nobody else can write to the database, so it is to be short: do slow work before or after it.
///
/// **A handler** takes one as `&mut SqliteTx<'_>`. The ledger mark is written right after BEGIN IMMEDIATE, guarded by the
/// claim's token, so a claim that was taken over meanwhile ends here; it commits, or rolls back, together with whatever the
/// handler writes. `tx.enqueue(&event)` makes follow-up events with ids derived from the cause: a re-run enqueues nothing
/// twice. Such a handler has a timeout of 2 s by default.
///
/// ```
/// # extern crate outbox_core as outbox;
/// # use outbox_core::{Event, event_handler};
/// # use outbox_sqlite::SqliteTx;
/// # #[derive(serde::Serialize, serde::Deserialize, Event)]
/// # #[event(type = "movie.added")]
/// # struct MovieAdded { movie_id: String, title: String }
/// #[event_handler(name = "search_index")]
/// async fn search_index(event: MovieAdded, tx: &mut SqliteTx<'_>) -> Result<(), sqlx::Error> {
///     sqlx::query("INSERT INTO movie_search (id, title) VALUES ($1, $2)")
///         .bind(event.movie_id)
///         .bind(event.title)
///         .execute(&mut **tx)
///         .await?;
///     Ok(())
/// }
/// # fn main() {}
/// ```
///
/// It cannot be ended by SQL: after a COMMIT or ROLLBACK within it nothing of it is kept, and the run has failed. What is
/// left behind on the connection (temporary tables, PRAGMAs) may be met by the next handler, so leave nothing; when
/// something fails on such a connection, it is opened anew.
///
/// **The application** begins one with [`SqliteOutbox::begin`](crate::SqliteOutbox::begin) and ends it with
/// [`commit`](Self::commit). If it is dropped, it is rolled back.
pub struct SqliteTx<'t> {
    pass: Pass,
    /// What a handler's transaction is about; `None` if it is the application's.
    delivery: Option<Delivery>,
    clock: SharedClock,
    wake: WakeHub,
    lifetime: PhantomData<&'t ()>,
}

impl Deref for SqliteTx<'_> {
    type Target = SqliteConnection;

    fn deref(&self) -> &SqliteConnection {
        self.pass.connection_ref()
    }
}

impl DerefMut for SqliteTx<'_> {
    fn deref_mut(&mut self) -> &mut SqliteConnection {
        self.pass.connection()
    }
}

impl std::fmt::Debug for SqliteTx<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.delivery {
            Some(delivery) => write!(f, "SqliteTx({} of {})", delivery.handler, delivery.event_id),
            None => f.write_str("SqliteTx"),
        }
    }
}

impl Enqueue<SqliteBackend> for SqliteTx<'_> {
    async fn enqueue_all(&mut self, events: Vec<NewEvent>) -> Result<Vec<Enqueued>, EnqueueError> {
        let now = self.clock.now();
        let caused = |event: NewEvent| match &self.delivery {
            Some(delivery) => event.or_caused_by(delivery),
            None => event,
        };
        let ready = events.into_iter().map(|event| caused(event).ready(now));
        let ready = ready.collect::<Result<Vec<_>, _>>()?;
        insert(self.pass.connection(), &ready).await
    }
}

impl SqliteTx<'_> {
    /// A transaction that has begun on the pass's connection.
    pub(crate) fn begun(
        mut pass: Pass,
        delivery: Option<Delivery>,
        clock: SharedClock,
        wake: WakeHub,
    ) -> Self {
        pass.lends();
        Self { pass, delivery, clock, wake, lifetime: PhantomData }
    }

    /// Commits what was written. Workers in this process are woken at once.
    ///
    /// # Errors
    ///
    /// [`StoreError`], and then nothing is written: a deferred constraint is violated, no space is left, the file was
    /// deleted or replaced, or a savepoint is still open.
    pub async fn commit(mut self) -> Result<(), StoreError> {
        self.end().await
    }

    /// Undoes what was written. So does dropping it, but this waits until others can write.
    ///
    /// # Errors
    ///
    /// None at present: what cannot be rolled back is closed, which undoes it, too.
    pub async fn rollback(mut self) -> Result<(), StoreError> {
        self.undo().await;
        Ok(())
    }

    async fn end(&mut self) -> Result<(), StoreError> {
        if self.pass.was_ended() {
            self.pass.abandon(StoreErrorKind::Other).await;
            return Err(StoreError::new(StoreErrorKind::Invalid, ENDED_BY_HAND));
        }
        // With a savepoint left open only that would be committed, and the rest be lost later.
        if self.has_savepoint().await {
            self.pass.abandon(StoreErrorKind::Other).await;
            let text = match self.delivery {
                Some(_) => {
                    "the handler left a savepoint of its transaction open: commit or drop it before returning"
                }
                None => "a savepoint of the transaction is open: commit or drop it first",
            };
            return Err(StoreError::new(StoreErrorKind::Invalid, text));
        }
        // What is committed to a file that has lost its name is lost.
        if let Err(failure) = self.pass.look_for_file().await {
            self.pass.abandon(StoreErrorKind::Other).await;
            return Err(failure);
        }
        self.pass.take_back();
        let committed = SqliteTransactionManager::commit(self.pass.connection()).await;
        if let Err(error) = committed {
            // sqlx goes on counting the transaction that is rolled back here, so the connection is not used again.
            self.pass.abandon(StoreErrorKind::Other).await;
            return Err(store_error("commit a transaction", error));
        }
        self.pass.closes();
        self.wake.notify();
        Ok(())
    }

    async fn undo(&mut self) {
        // A transaction that was dropped within a savepoint leaves it open; a plain ROLLBACK ends it all, but sqlx would
        // go on counting, so such a connection is closed.
        if self.pass.was_ended() {
            tracing::warn!(name: "outbox.transaction.ended", transaction = ?self, "{ENDED_BY_HAND}");
        }
        self.pass.stop_statements();
        let one_level = SqliteTransactionManager::get_transaction_depth(self.pass.connection()) == 1;
        if one_level && rolls_back(self.pass.connection()).await {
            self.pass.closes();
            self.pass.resume();
            self.pass.close_if_spoilt().await;
        } else {
            self.pass.abandon(StoreErrorKind::Other).await;
        }
    }

    /// Whether a savepoint is open. One that was dropped is rolled back by the connection's thread, which is waited for.
    async fn has_savepoint(&mut self) -> bool {
        let connection = self.pass.connection();
        SqliteTransactionManager::get_transaction_depth(connection) > 1
            && (connection.ping().await.is_err()
                || SqliteTransactionManager::get_transaction_depth(connection) > 1)
    }
}

const ENDED_BY_HAND: &str = "the transaction was ended by a statement within it, so nothing of it is kept (COMMIT, ROLLBACK, \
                             or a conflict clause ROLLBACK): leave its end to `SqliteTx`, and undo a part of it with a \
                             savepoint, `tx.begin()`";

/// Whether the connection answers to a ROLLBACK of the one transaction that is open.
async fn rolls_back(connection: &mut SqliteConnection) -> bool {
    let answer = tokio::time::timeout(PATIENCE, SqliteTransactionManager::rollback(connection)).await;
    matches!(answer, Ok(Ok(())))
}

impl Drop for SqliteTx<'_> {
    fn drop(&mut self) {
        // An application leaves by `?` as a matter of course, so the connection is kept. A handler's transaction that is
        // dropped was cut off within a statement: its pass closes the connection.
        if self.delivery.is_none() && self.pass.is_open() {
            self.pass.stop_statements();
            SqliteTransactionManager::start_rollback(self.pass.connection());
            self.pass.closes();
        }
    }
}

#[async_trait]
impl HandlerTransaction for SqliteTx<'static> {
    async fn commit(mut self: Box<Self>) -> Result<(), LedgerError> {
        Ok(self.end().await?)
    }

    async fn rollback(mut self: Box<Self>) -> Result<(), StoreError> {
        self.undo().await;
        Ok(())
    }
}
