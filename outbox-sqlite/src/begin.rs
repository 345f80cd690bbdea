//! Beginning transactions that take their turn at the gate.

use std::any::Any;
use std::time::Duration;

use outbox_core::{
    ClaimToken, Delivery, LedgerError, SharedClock, StoreError, StoreErrorKind, TransactionType,
    Transactions, async_trait,
};
use sqlx::SqlSafeStr;
use sqlx::sqlite::SqliteTransactionManager;
// sqlx keeps this trait out of its root; it makes `begin` within our transaction a savepoint.
use sqlx_core::transaction::TransactionManager;

use crate::error::store_error;
use crate::gate::{Gate, Pass};
use crate::holder::Purpose;
use crate::tx::SqliteTx;
use crate::wake::WakeHub;

/// Begins transactions on the write connection.
pub(crate) struct SqliteTransactions {
    pub(crate) gate: Gate,
    pub(crate) clock: SharedClock,
    pub(crate) wake: WakeHub,
}

impl SqliteTransactions {
    /// One of the application, which gives up when its turn has not come after `patience`.
    pub(crate) async fn begin_for_application(
        &self,
        patience: Duration,
    ) -> Result<SqliteTx<'static>, StoreError> {
        if self.gate.held_by_this_task() == Some(Purpose::Handler) {
            return Err(StoreError::new(StoreErrorKind::Invalid, WITHIN_HANDLER));
        }
        let turn = tokio::time::timeout(patience, self.gate.pass_ahead()).await;
        let mut pass = turn.map_err(|_| StoreError::new(StoreErrorKind::Busy, no_turn(patience)))??;
        pass.hold_for(Purpose::Application);
        if let Err(failure) = begin_immediate(&mut pass).await {
            pass.abandon(failure.kind()).await;
            return Err(failure);
        }
        Ok(SqliteTx::begun(pass, None, self.clock.clone(), self.wake.clone()))
    }
}

const WITHIN_HANDLER: &str = "`store.begin()` within a handler's transaction would wait for that transaction: write on the \
                              handler's `tx`, which also commits together with its ledger mark";

fn no_turn(patience: Duration) -> String {
    format!(
        "the turn to write did not come within {patience:?}: another transaction of this store is open, perhaps of this \
         very task"
    )
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
        pass.hold_for(Purpose::Handler);
        match begin_marked(&mut pass, claim, &self.clock).await {
            Ok(true) => {
                let (clock, wake) = (self.clock.clone(), self.wake.clone());
                Ok(Box::new(SqliteTx::<'static>::begun(pass, Some(delivery.clone()), clock, wake)))
            }
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
    begin_immediate(pass).await?;
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

/// BEGIN IMMEDIATE, if need be once more on a new connection: an earlier transaction may have left the old one unfit for
/// writing.
async fn begin_immediate(pass: &mut Pass) -> Result<(), StoreError> {
    let may_be_spoilt = pass.may_be_spoilt();
    match try_begin(pass).await {
        Err(failure) if may_be_spoilt && failure.kind() != StoreErrorKind::Busy => {
            pass.abandon(StoreErrorKind::Other).await;
            pass.open_connection().await?;
            try_begin(pass).await
        }
        begun => begun,
    }
}

/// In a way that makes sqlx count it: what begins within it is a savepoint.
async fn try_begin(pass: &mut Pass) -> Result<(), StoreError> {
    pass.opens();
    let immediate = Some("BEGIN IMMEDIATE".into_sql_str());
    let begun = SqliteTransactionManager::begin(pass.connection(), immediate).await;
    begun.map_err(|e| store_error("begin a transaction", e))
}
