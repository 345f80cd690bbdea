//! The memory backend keeps the contract.

use std::sync::Arc;
use std::time::Duration;

use outbox_core::testing::conformance::Backend;
use outbox_core::{
    Admin, Bus, EnqueueError, Enqueued, Ledger, ManualClock, MemoryOutbox, NewEvent, async_trait,
};

struct Memory(MemoryOutbox);

#[async_trait]
impl Backend for Memory {
    async fn open(clock: ManualClock, lease: Duration) -> Self {
        Self(MemoryOutbox::new().with_clock(Arc::new(clock)).with_lease(lease))
    }

    fn bus(&self) -> Arc<dyn Bus> {
        Arc::new(self.0.bus())
    }

    fn ledger(&self) -> Arc<dyn Ledger> {
        Arc::new(self.0.ledger())
    }

    fn admin(&self) -> Arc<dyn Admin> {
        Arc::new(self.0.admin())
    }

    async fn enqueue_all(&self, events: Vec<NewEvent>) -> Result<Vec<Enqueued>, EnqueueError> {
        self.0.enqueue_all(events).await
    }

    async fn insert_foreign(&self, event_type: &str, payload: &str) {
        self.0.insert_foreign(event_type, payload);
    }
}

outbox_core::conformance_tests!(Memory);
