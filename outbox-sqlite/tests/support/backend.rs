//! The SQLite store as the suite of behaviour opens it.

use std::sync::Arc;
use std::time::Duration;

use outbox_core::testing::conformance::Backend;
use outbox_core::{Admin, Bus, Clock, EnqueueError, Enqueued, Ledger, ManualClock, NewEvent, async_trait};
use outbox_sqlite::{SqliteOptions, SqliteOutbox, Synchronous};

pub(crate) struct Sqlite {
    pub(crate) store: SqliteOutbox,
    clock: ManualClock,
    _directory: tempfile::TempDir,
}

#[async_trait]
impl Backend for Sqlite {
    async fn open(clock: ManualClock, lease: Duration) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let url = format!("sqlite://{}", directory.path().join("app.db").display());
        let options = SqliteOptions {
            queue_lease: lease,
            synchronous: Synchronous::Normal,
            ..SqliteOptions::default()
        };
        let store =
            SqliteOutbox::connect_with(&url, options).await.unwrap().with_clock(Arc::new(clock.clone()));
        store.migrate().await.unwrap();
        Self { store, clock, _directory: directory }
    }

    fn bus(&self) -> Arc<dyn Bus> {
        Arc::new(self.store.bus())
    }

    fn ledger(&self) -> Arc<dyn Ledger> {
        Arc::new(self.store.ledger())
    }

    fn admin(&self) -> Arc<dyn Admin> {
        Arc::new(self.store.admin())
    }

    async fn enqueue_all(&self, events: Vec<NewEvent>) -> Result<Vec<Enqueued>, EnqueueError> {
        self.store.enqueue_all(events).await
    }

    async fn insert_foreign(&self, event_type: &str, payload: &str) {
        // The column's default is the database's clock; this store goes by one that stands still.
        sqlx::query(
            "INSERT INTO event_queue (event_type, payload, available_at, created_at) VALUES ($1, $2, $3, $3)",
        )
        .bind(event_type)
        .bind(payload)
        .bind(self.clock.now().as_millis())
        .execute(self.store.pool())
        .await
        .unwrap();
    }
}
