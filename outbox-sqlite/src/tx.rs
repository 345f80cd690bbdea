//! The transaction of a handler: its effect and its ledger mark commit together.

use std::any::Any;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use outbox_core::{
    ClaimToken, Delivery, Enqueue, EnqueueError, Enqueued, HandlerTransaction, LedgerError, NewEvent,
    SharedClock, StoreError, StoreErrorKind, TransactionType, Transactions, async_trait,
};
use sqlx::sqlite::{SqliteConnection, SqliteTransactionManager};
use sqlx::{Connection, SqlSafeStr};
// sqlx keeps this trait out of its root; it makes `begin` within our transaction a savepoint.
use sqlx_core::transaction::TransactionManager;

use crate::enqueue::{SqliteBackend, insert};
use crate::error::store_error;
use crate::gate::{Gate, Pass};
use crate::wake::WakeHub;

/// An open transaction that a handler takes as `&mut SqliteTx<'_>`; it dereferences to the sqlx connection.
///
/// The ledger mark is written right after BEGIN IMMEDIATE, guarded by the claim's token, so a claim that was taken over
/// meanwhile ends here; it commits, or rolls back, together with whatever the handler writes. While it is open nobody
/// else can write to the database, so such handlers are to be short (2 s by default): do slow work elsewhere.
///
/// `tx.enqueue(&event)` makes follow-up events with ids derived from the cause: a re-run enqueues nothing twice.
///
/// ```ignore
/// #[event_handler(name = "search_index")]
/// async fn search_index(event: MovieAdded, tx: &mut SqliteTx<'_>) -> Result<(), sqlx::Error> {
///     sqlx::query("INSERT INTO movie_search (id, title) VALUES ($1, $2)")
///         .bind(event.movie_id)
///         .bind(event.title)
///         .execute(&mut **tx)
///         .await?;
///     Ok(())
/// }
/// ```
pub struct SqliteTx<'t> {
    pass: Pass,
    delivery: Delivery,
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
        write!(f, "SqliteTx({} of {})", self.delivery.handler, self.delivery.event_id)
    }
}

impl Enqueue<SqliteBackend> for SqliteTx<'_> {
    async fn enqueue_all(&mut self, events: Vec<NewEvent>) -> Result<Vec<Enqueued>, EnqueueError> {
        let now = self.clock.now();
        let ready = events.into_iter().map(|event| event.or_caused_by(&self.delivery).ready(now));
        let ready = ready.collect::<Result<Vec<_>, _>>()?;
        insert(self.pass.connection(), &ready).await
    }
}

impl SqliteTx<'_> {
    /// Whether a savepoint is open. One that was dropped is rolled back by the connection's thread, which is waited for.
    async fn has_savepoint(&mut self) -> bool {
        let connection = self.pass.connection();
        SqliteTransactionManager::get_transaction_depth(connection) > 1
            && (connection.ping().await.is_err()
                || SqliteTransactionManager::get_transaction_depth(connection) > 1)
    }
}

#[async_trait]
impl HandlerTransaction for SqliteTx<'static> {
    async fn commit(mut self: Box<Self>) -> Result<(), LedgerError> {
        // With a savepoint that the handler left open only that would be committed, and the rest be lost later.
        if self.has_savepoint().await {
            self.pass.abandon(StoreErrorKind::Other).await;
            let text =
                "the handler left a savepoint of its transaction open: commit or drop it before returning";
            return Err(StoreError::new(StoreErrorKind::Invalid, text).into());
        }
        // What is committed to a file that has lost its name is lost.
        if let Err(failure) = self.pass.look_for_file().await {
            self.pass.abandon(StoreErrorKind::Other).await;
            return Err(failure.into());
        }
        let committed = SqliteTransactionManager::commit(self.pass.connection()).await;
        if let Err(error) = committed {
            // sqlx goes on counting the transaction that is rolled back here, so the connection is not used again.
            self.pass.abandon(StoreErrorKind::Other).await;
            return Err(store_error("commit a handler's transaction", error).into());
        }
        self.pass.closes();
        self.wake.notify();
        Ok(())
    }

    async fn rollback(mut self: Box<Self>) -> Result<(), StoreError> {
        // A handler that was dropped within a savepoint leaves it open; a plain ROLLBACK ends it all, but sqlx would go
        // on counting, so such a connection is closed.
        self.pass.stop_statements();
        let one_level = SqliteTransactionManager::get_transaction_depth(self.pass.connection()) == 1;
        if one_level && SqliteTransactionManager::rollback(self.pass.connection()).await.is_ok() {
            self.pass.closes();
        } else {
            self.pass.abandon(StoreErrorKind::Other).await;
        }
        self.pass.resume();
        Ok(())
    }
}

/// Begins handlers' transactions on the write connection.
pub(crate) struct SqliteTransactions {
    pub(crate) gate: Gate,
    pub(crate) clock: SharedClock,
    pub(crate) wake: WakeHub,
}

#[async_trait]
impl Transactions for SqliteTransactions {
    fn offers(&self) -> TransactionType {
        TransactionType::of::<SqliteTx<'static>>()
    }

    async fn begin(
        &self,
        claim: &ClaimToken,
        delivery: &Delivery,
    ) -> Result<Box<dyn Any + Send>, LedgerError> {
        let mut pass = self.gate.pass().await?;
        pass.held_by_this_task();
        match begin_marked(&mut pass, claim, &self.clock).await {
            Ok(true) => Ok(Box::new(SqliteTx {
                pass,
                delivery: delivery.clone(),
                clock: self.clock.clone(),
                wake: self.wake.clone(),
                lifetime: PhantomData::<&'static ()>,
            })),
            Ok(false) => {
                if SqliteTransactionManager::rollback(pass.connection()).await.is_ok() {
                    pass.closes();
                }
                Err(LedgerError::LeaseLost)
            }
            Err(failure) => {
                // sqlx may count a transaction that is not there any more, so the connection is not used again.
                pass.abandon(StoreErrorKind::Other).await;
                Err(failure.into())
            }
        }
    }
}

/// BEGIN IMMEDIATE and the ledger mark; false if the claim is no longer ours.
async fn begin_marked(pass: &mut Pass, claim: &ClaimToken, clock: &SharedClock) -> Result<bool, StoreError> {
    pass.opens();
    let begun =
        SqliteTransactionManager::begin(pass.connection(), Some("BEGIN IMMEDIATE".into_sql_str())).await;
    begun.map_err(|e| store_error("begin a handler's transaction", e))?;
    let marked = sqlx::query(include_str!("sql/mark_done.sql"))
        .bind(clock.now().as_millis())
        .bind(claim.event_id.to_string())
        .bind(&*claim.handler)
        .bind(claim.owner.to_string())
        .bind(claim.started_at.as_millis())
        .execute(pass.connection())
        .await
        .map_err(|e| store_error("mark a claim as done", e))?;
    Ok(marked.rows_affected() == 1)
}
