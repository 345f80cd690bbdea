//! The writer gate: all writes of the framework in this process pass it one after the other, first come first served,
//! before BEGIN IMMEDIATE, so that they never meet as SQLITE_BUSY. The application's own pass it ahead of the queue.

use std::sync::{Arc, Mutex as StdMutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use outbox_core::{StoreError, StoreErrorKind};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteTransactionManager};
use sqlx::{ConnectOptions, Connection, Executor};
use sqlx_core::transaction::TransactionManager;
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::error::store_error;
use crate::file::{DatabaseFile, Place};
use crate::holder::{Holder, Purpose};
use crate::open::Open;
use crate::pace::Pace;

/// The one write connection of a store and the queue before it. The connection is the framework's own: opened from
/// the pool's options, never borrowed from the pool.
#[derive(Clone)]
pub(crate) struct Gate {
    shared: Arc<Shared>,
}

struct Shared {
    options: SqliteConnectOptions,
    file: Arc<DatabaseFile>,
    // Fair: tokio's mutex serves in the order of asking.
    open: Arc<Mutex<Option<Open>>>,
    /// Of the framework's own writers, only the first of the queue asks for the connection.
    queue: Mutex<()>,
    /// Who holds a transaction that lasts longer than a call.
    holder: StdMutex<Option<Holder>>,
    pace: StdMutex<Pace>,
}

/// The right to write.
pub(crate) struct Pass {
    shared: Arc<Shared>,
    guard: OwnedMutexGuard<Option<Open>>,
    /// Since when a transaction may be open on the connection. If so when this is dropped, the connection is not used
    /// again before it is rolled back.
    open_since: Option<Instant>,
}

const KEPT: &str = "opened by `pass` and kept until the pass is dropped";
/// How long a connection that is given up is waited for. The driver's thread has panicked after some errors (sqlx 0.9,
/// `sqlite3_reset` without an error code), and then never answers. A connection that is dropped is closed all the same.
pub(crate) const PATIENCE: Duration = Duration::from_secs(1);
/// Statement texts of several kinds: the connection keeps each prepared.
const STATEMENT_CACHE: usize = 256;

impl Gate {
    pub(crate) fn new(options: &SqliteConnectOptions, file: Arc<DatabaseFile>) -> Self {
        let options = options
            .clone()
            .statement_cache_capacity(STATEMENT_CACHE)
            .optimize_on_close(false, None)
            .disable_statement_logging()
            // A database that was lost is not to be taken for a new one.
            .create_if_missing(false);
        Self {
            shared: Arc::new(Shared {
                options,
                file,
                open: Arc::new(Mutex::new(None)),
                queue: Mutex::new(()),
                holder: StdMutex::new(None),
                pace: StdMutex::new(Pace::new(Instant::now())),
            }),
        }
    }

    /// Waits for its turn. The connection is opened when it is first needed, and again after a failure.
    ///
    /// Fails while the file is gone, and once after another has taken its place, so that a worker hears of it; the next
    /// call opens the file that is there.
    pub(crate) async fn pass(&self) -> Result<Pass, StoreError> {
        let _first = self.shared.queue.lock().await;
        self.pass_ahead().await
    }

    /// As [`pass`](Self::pass), ahead of the queue of the framework's own writers, in which there are as many as handlers
    /// run: somebody waits for what the application does, and nobody for an event. Whoever holds the connection and the
    /// first of the queue, who has asked before, are waited for; so the framework gets its turn, too.
    pub(crate) async fn pass_ahead(&self) -> Result<Pass, StoreError> {
        let guard = Arc::clone(&self.shared.open).lock_owned().await;
        let mut pass = Pass { shared: Arc::clone(&self.shared), guard, open_since: None };
        pass.look_for_file().await?;
        pass.await_rollback().await;
        pass.open_connection().await?;
        pass.open().hooks.take_back();
        pass.leave_others_their_turn().await;
        Ok(pass)
    }

    /// What the calling task holds a transaction for, if it does: it would wait for itself in vain.
    pub(crate) fn held_by_this_task(&self) -> Option<Purpose> {
        let holder = *self.shared.holder.lock().unwrap_or_else(PoisonError::into_inner);
        holder.and_then(Holder::purpose_of_this_task)
    }
}

impl Pass {
    /// Opens the connection unless it is open.
    pub(crate) async fn open_connection(&mut self) -> Result<(), StoreError> {
        if self.guard.is_none() {
            *self.guard = Some(Open::connect(&self.shared.options).await?);
            self.pace().saw_version(None, Instant::now());
        }
        Ok(())
    }

    /// An application's transaction that was dropped is rolled back by the connection's thread, which is waited for.
    async fn await_rollback(&mut self) {
        let Some(open) = &mut *self.guard else { return };
        let depth =
            |connection: &SqliteConnection| SqliteTransactionManager::get_transaction_depth(connection);
        if !open.hooks.is_stopped() && depth(&open.connection) == 0 {
            return;
        }
        // A statement that was interrupted may have ended the transaction by itself; then sqlx goes on counting it.
        if open.connection.ping().await.is_err() || depth(&open.connection) > 0 {
            self.close().await;
        } else {
            self.resume();
        }
    }

    /// Fails if the connection is open on another file than the path leads to.
    pub(crate) async fn look_for_file(&mut self) -> Result<(), StoreError> {
        let Some(open) = &*self.guard else { return Ok(()) };
        let Err((place, failure)) = self.shared.file.check(open.since) else { return Ok(()) };
        // One that is gone may be put back.
        if place == Place::Replaced {
            self.close().await;
        }
        Err(failure)
    }

    async fn close(&mut self) {
        if let Some(open) = self.guard.take() {
            let _ = tokio::time::timeout(PATIENCE, open.connection.close()).await;
        }
    }

    /// Waits as long as [`Pace`] wants it.
    async fn leave_others_their_turn(&mut self) {
        let wants_version = self.pace().wants_version(Instant::now());
        if wants_version {
            let version = sqlx::query_scalar("PRAGMA data_version").fetch_one(self.connection()).await;
            // A failure will show when something is written.
            self.pace().saw_version(version.ok(), Instant::now());
        }
        let pause = self.pace().pause(Instant::now());
        if let Some(pause) = pause {
            tokio::time::sleep(pause).await;
        }
    }

    /// The connection.
    pub(crate) fn connection(&mut self) -> &mut SqliteConnection {
        &mut self.open_mut().connection
    }

    /// The connection, to look at.
    pub(crate) fn connection_ref(&self) -> &SqliteConnection {
        &self.open().connection
    }

    /// The connection with what is known of it.
    pub(crate) fn open(&self) -> &Open {
        self.guard.as_ref().unwrap_or_else(|| unreachable!("{KEPT}"))
    }

    fn open_mut(&mut self) -> &mut Open {
        self.guard.as_mut().unwrap_or_else(|| unreachable!("{KEPT}"))
    }

    /// Marks the pass as a transaction of the calling task.
    pub(crate) fn hold_for(&self, purpose: Purpose) {
        let holder = Some(Holder::this_task(purpose));
        *self.shared.holder.lock().unwrap_or_else(PoisonError::into_inner) = holder;
    }

    /// From here on a transaction may be open.
    pub(crate) fn opens(&mut self) {
        self.open_since = Some(Instant::now());
    }

    /// The transaction is over.
    pub(crate) fn closes(&mut self) {
        if let Some(since) = self.open_since.take() {
            self.pace().held(since, Instant::now());
        }
    }

    /// Whether a transaction may be open.
    pub(crate) fn is_open(&self) -> bool {
        self.open_since.is_some()
    }

    /// The transaction that has begun is one that somebody else writes in.
    pub(crate) fn lends(&mut self) {
        self.open().hooks.lend();
        self.open_mut().was_lent = true;
    }

    /// Whether a failure may be due to what somebody else has done to the connection, which is then opened anew.
    pub(crate) fn may_be_spoilt(&self) -> bool {
        self.guard.as_ref().is_some_and(|open| open.was_lent)
    }

    /// Whether the transaction was ended by those to whom it was lent.
    pub(crate) fn was_ended(&self) -> bool {
        self.open().hooks.has_ended()
    }

    /// The transaction is the framework's again, to be committed.
    pub(crate) fn take_back(&self) {
        self.open().hooks.take_back();
    }

    /// Closes the connection if something was left behind on it. For after a rollback: such a thing may be the cause.
    pub(crate) async fn close_if_spoilt(&mut self) {
        if self.open_mut().is_spoilt().await {
            self.close().await;
        }
    }

    /// Ends a statement that still runs: the future of a handler that was dropped stops waiting for its statement, but
    /// the statement goes on and keeps everybody from writing. Until [`resume`](Self::resume).
    pub(crate) fn stop_statements(&self) {
        if let Some(open) = &*self.guard {
            open.hooks.stop();
        }
    }

    /// The connection is used again.
    pub(crate) fn resume(&self) {
        if let Some(open) = &*self.guard {
            open.hooks.resume();
        }
    }

    fn pace(&self) -> MutexGuard<'_, Pace> {
        self.shared.pace.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a transaction that writes.
    pub(crate) async fn begin(&mut self) -> Result<(), StoreError> {
        self.opens();
        let begun = self.connection().execute("BEGIN IMMEDIATE").await;
        begun.map_err(|e| store_error("begin a transaction", e))?;
        Ok(())
    }

    /// Commits it.
    pub(crate) async fn commit(&mut self) -> Result<(), StoreError> {
        let committed = self.connection().execute("COMMIT").await;
        committed.map_err(|e| store_error("commit", e))?;
        self.closes();
        Ok(())
    }

    /// Rolls back whatever is open. After a failure other than a busy lock the connection is closed, too, since it may
    /// be the cause.
    pub(crate) async fn abandon(&mut self, after: StoreErrorKind) {
        let may_be_the_cause = !matches!(after, StoreErrorKind::Busy | StoreErrorKind::Invalid);
        if may_be_the_cause || (self.open_since.is_some() && !self.rolls_back().await) {
            self.close().await;
        }
        self.closes();
    }

    /// Whether the connection answers to a ROLLBACK; with no transaction open that is an error without a consequence.
    async fn rolls_back(&mut self) -> bool {
        match &mut *self.guard {
            Some(open) => tokio::time::timeout(PATIENCE, open.connection.execute("ROLLBACK")).await.is_ok(),
            None => true,
        }
    }
}

impl Drop for Pass {
    fn drop(&mut self) {
        *self.shared.holder.lock().unwrap_or_else(PoisonError::into_inner) = None;
        if self.open_since.is_some() {
            // A future was dropped within a transaction. Closing the connection rolls it back.
            self.stop_statements();
            self.guard.take();
            self.closes();
        }
    }
}

#[cfg(test)]
mod tests;
