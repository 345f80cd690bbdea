//! What an operator may ask of the store, and do to it.

mod dead_letters;
mod explain;
mod handlers;
mod redrive;
mod status;
mod steps;

use std::sync::Arc;

use outbox_core::{
    Admin, DeadLetter, DeadLetterFilter, EventId, Explanation, ListedHandler, Pruned, Retention, Status,
    StoreError, async_trait,
};
use sqlx::Sqlite;
use sqlx::pool::PoolConnection;

use self::steps::Breath;
use crate::error::store_error;
use crate::store::Store;
use crate::upkeep;

/// The operator's side of a [`SqliteOutbox`](crate::SqliteOutbox). Clones share it.
///
/// It reads on connections of the store's pool, so that a console that asks often does not hold up a worker. Where a
/// row holds something that no writer of ours would put there, it is shown as far as possible: a time that is no number
/// as 1970, text that is no UTF-8 with replacement characters, an id that is no UUID as the nil id.
#[derive(Clone)]
pub struct SqliteAdmin {
    store: Arc<Store>,
}

impl SqliteAdmin {
    pub(crate) fn new(store: Arc<Store>) -> Self {
        Self { store }
    }
}

/// A connection to read on.
async fn reader(store: &Store) -> Result<PoolConnection<Sqlite>, StoreError> {
    store.pool.acquire().await.map_err(|error| store_error("take a connection from the pool", error))
}

#[async_trait]
impl Admin for SqliteAdmin {
    async fn status(&self) -> Result<Status, StoreError> {
        status::read(&self.store).await
    }

    async fn dead_letters(
        &self,
        filter: &DeadLetterFilter,
        limit: usize,
    ) -> Result<Vec<DeadLetter>, StoreError> {
        dead_letters::list(&self.store, filter, limit).await
    }

    async fn retry(&self, filter: &DeadLetterFilter) -> Result<u64, StoreError> {
        redrive::change_all(&self.store, filter, redrive::Change::Retry).await
    }

    async fn discard(&self, filter: &DeadLetterFilter) -> Result<u64, StoreError> {
        redrive::change_all(&self.store, filter, redrive::Change::Discard).await
    }

    async fn prune(&self, retention: &Retention) -> Result<Pruned, StoreError> {
        let mut pruned = Pruned::default();
        let mut breath = Breath::new();
        loop {
            let step = upkeep::prune_step(&self.store, retention, self.store.clock.now()).await?;
            if step == Pruned::default() {
                return Ok(pruned);
            }
            pruned.events += step.events;
            pruned.claims += step.claims;
            breath.take().await;
        }
    }

    async fn explain(&self, event_id: EventId) -> Result<Option<Explanation>, StoreError> {
        explain::read(&self.store, event_id).await
    }

    async fn handlers(&self) -> Result<Vec<ListedHandler>, StoreError> {
        handlers::list(&self.store).await
    }

    async fn forget_handler(&self, name: &str) -> Result<u64, StoreError> {
        handlers::forget(&self.store, name).await
    }
}

impl std::fmt::Debug for SqliteAdmin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SqliteAdmin")
    }
}
