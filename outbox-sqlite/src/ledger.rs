//! The ledger in the table `processed_events`.

use std::sync::Arc;
use std::time::Duration;

use outbox_core::{
    Claim, ClaimRequest, ClaimToken, Ledger, LedgerError, Release, StoreError, StoreId, Transactions,
    async_trait,
};

use crate::begin::SqliteTransactions;
use crate::store::Store;
use crate::writer::{Change, Command};

/// The ledger of a [`SqliteOutbox`](crate::SqliteOutbox). Clones share it.
#[derive(Clone)]
pub struct SqliteLedger {
    store: Arc<Store>,
    transactions: Arc<SqliteTransactions>,
}

impl SqliteLedger {
    pub(crate) fn new(store: Arc<Store>) -> Self {
        let transactions = Arc::new(store.transactions());
        Self { store, transactions }
    }

    async fn change(&self, token: &ClaimToken, change: Change) -> Result<(), LedgerError> {
        let token = token.clone();
        self.store.writer()?.ask(|reply| Command::Change { token, change, reply }).await
    }
}

#[async_trait]
impl Ledger for SqliteLedger {
    async fn claim(&self, request: &ClaimRequest) -> Result<Claim, StoreError> {
        let request = request.clone();
        self.store.writer()?.ask(|reply| Command::Claim { request, reply }).await
    }

    async fn renew(&self, token: &ClaimToken, lease: Duration) -> Result<(), LedgerError> {
        let token = token.clone();
        self.store.writer()?.ask(|reply| Command::Renew { token, lease, reply }).await
    }

    async fn done(&self, token: &ClaimToken) -> Result<(), LedgerError> {
        self.change(token, Change::Done).await
    }

    async fn release(&self, token: &ClaimToken, release: &Release) -> Result<(), LedgerError> {
        self.change(token, Change::Release(release.clone())).await
    }

    async fn bury(&self, token: &ClaimToken, reason: &str) -> Result<(), LedgerError> {
        self.change(token, Change::Bury(reason.to_owned())).await
    }

    fn transactions(&self) -> Option<&dyn Transactions> {
        Some(&*self.transactions)
    }

    fn store_id(&self) -> Option<StoreId> {
        Some(self.store.id)
    }
}

impl std::fmt::Debug for SqliteLedger {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SqliteLedger")
    }
}
