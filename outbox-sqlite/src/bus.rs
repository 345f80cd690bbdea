//! The queue in the table `event_queue`, as a bus.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use outbox_core::{
    Bus, Envelope, OnDead, PublishError, Publisher, ReadyEvent, Receipt, Received, Settlement, StoreError,
    StoreId, SubscribedHandler, Subscription, Timestamp, Upkeep, UpkeepReport, async_trait,
};
use tracing::warn;
use uuid::Uuid;

use crate::error::store_error;
use crate::store::Store;
use crate::subscriber::Subscriber;
use crate::wake::WakeListener;
use crate::writer::{Batch, Command, ReceiveRequest, SettleItem};
use crate::{columns, listing, upkeep};

/// The queue of a [`SqliteOutbox`](crate::SqliteOutbox), for one worker or relay. Clones share the subscription.
#[derive(Clone)]
pub struct SqliteBus {
    shared: Arc<Shared>,
}

struct Shared {
    store: Arc<Store>,
    listener: WakeListener,
    subscriber: RwLock<Arc<Subscriber>>,
    /// Distinguishes the claims of one worker.
    claims: AtomicU64,
    /// When the last claim looked, in milliseconds.
    looked_at: AtomicI64,
    /// The arrival of the file in which the handlers are listed; see [`DatabaseFile::arrivals`].
    ///
    /// [`DatabaseFile::arrivals`]: crate::file::DatabaseFile::arrivals
    listed_at: AtomicU64,
}

/// Rows looked at in one claim, after one that found nothing but rows to put back.
const WINDOW: usize = 1_000;
/// Claims in a row that may only put rows back. Then the worker's loop goes round, and looks at its shutdown.
const ROUNDS: usize = 16;
/// Before the first claim.
const NEVER: i64 = i64::MIN;
/// Of a bus without a subscription.
const NOT_LISTED: u64 = u64::MAX;

impl SqliteBus {
    pub(crate) fn new(store: Arc<Store>) -> Self {
        // Without a subscription it is a relay's: every type, whole rows.
        let everything = Subscription {
            owner: Uuid::new_v4(),
            handlers: vec![SubscribedHandler {
                name: Arc::from(""),
                event_type: Arc::from("*"),
                max_version: u32::MAX,
                max_attempts: u32::MAX,
                lease: store.options.queue_lease,
                on_dead: OnDead::Continue,
            }],
            grant_claims: false,
        };
        let shared = Shared {
            listener: store.wake.listen(),
            store,
            subscriber: RwLock::new(Arc::new(Subscriber::new(&everything))),
            claims: AtomicU64::new(0),
            looked_at: AtomicI64::new(NEVER),
            listed_at: AtomicU64::new(NOT_LISTED),
        };
        Self { shared: Arc::new(shared) }
    }

    fn subscriber(&self) -> Arc<Subscriber> {
        Arc::clone(&self.shared.subscriber.read().unwrap_or_else(PoisonError::into_inner))
    }

    async fn list(&self, subscriber: &Arc<Subscriber>) -> Result<(), StoreError> {
        let arrivals = self.shared.store.file.arrivals();
        listing::list_handlers(&self.shared.store, subscriber).await?;
        self.shared.listed_at.store(arrivals, Ordering::Release);
        Ok(())
    }

    /// A file that has taken the place of another, restored from a backup, say, may not know of this worker.
    async fn list_in_another_file(&self, subscriber: &Arc<Subscriber>) -> Result<(), StoreError> {
        let listed_at = self.shared.listed_at.load(Ordering::Acquire);
        if listed_at == NOT_LISTED || listed_at == self.shared.store.file.arrivals() {
            return Ok(());
        }
        self.list(subscriber).await
    }

    async fn types(&self, subscriber: &Subscriber) -> Result<String, StoreError> {
        if !subscriber.has_patterns {
            return Ok(subscriber.plain_types.clone());
        }
        // A type that is no UTF-8 comes out as another, of which there is nothing to claim.
        let types = self
            .shared
            .store
            .read(|connection| {
                Box::pin(async move {
                    let types =
                        sqlx::query(include_str!("sql/pending_types.sql")).fetch_all(connection).await;
                    let types = types.and_then(|rows| columns::texts(&rows, "event_type"));
                    types.map_err(|e| store_error("look up the types that wait", e))
                })
            })
            .await?;
        Ok(subscriber.types(&types))
    }

    async fn claim(
        &self,
        subscriber: &Arc<Subscriber>,
        max: usize,
        window: usize,
    ) -> Result<Batch, StoreError> {
        let shared = &self.shared;
        let number = shared.claims.fetch_add(1, Ordering::Relaxed);
        let writer = shared.store.writer()?;
        let request = ReceiveRequest {
            subscriber: Arc::clone(subscriber),
            types: self.types(subscriber).await?,
            token: Arc::from(format!("{}/{number}", subscriber.owner)),
            queue_lease: shared.store.options.queue_lease,
            max,
            window,
            asked_at: shared.store.clock.now(),
            writer: writer.clone(),
        };
        shared.looked_at.store(request.asked_at.as_millis(), Ordering::Release);
        writer.ask(|reply| Command::Receive { request, reply }).await
    }

    /// A row that no envelope can hold is dead-lettered at once.
    async fn bury_unreadable(&self, rows: Vec<(Receipt, String)>) -> Result<(), StoreError> {
        if rows.is_empty() {
            return Ok(());
        }
        for (receipt, reason) in &rows {
            warn!(name: "outbox.unreadable", row = %receipt.message, error = reason, "a row cannot be read: dead letter");
        }
        let settlements = rows.into_iter().map(|(receipt, reason)| (receipt, Settlement::Dead { reason }));
        self.settle(settlements.collect()).await
    }
}

#[async_trait]
impl Publisher for SqliteBus {
    async fn publish(&self, events: &[Envelope]) -> Vec<Result<(), PublishError>> {
        let now = self.shared.store.clock.now();
        let ready =
            events.iter().map(|event| ReadyEvent { envelope: event.clone(), available_at: now }).collect();
        let written = match self.shared.store.writer() {
            Ok(writer) => writer.ask(|reply| Command::Enqueue { events: ready, reply }).await,
            Err(failure) => Err(failure),
        };
        match written {
            // A duplicate was taken before.
            Ok(_) => events.iter().map(|_| Ok(())).collect(),
            Err(failure) => events.iter().map(|_| Err(PublishError::Transport(failure.clone()))).collect(),
        }
    }
}

#[async_trait]
impl Bus for SqliteBus {
    async fn subscribe(&self, subscription: Subscription) -> Result<(), StoreError> {
        let subscriber = Arc::new(Subscriber::new(&subscription));
        self.list(&subscriber).await?;
        *self.shared.subscriber.write().unwrap_or_else(PoisonError::into_inner) = subscriber;
        Ok(())
    }

    async fn receive(&self, max: usize) -> Result<Vec<Received>, StoreError> {
        let subscriber = self.subscriber();
        if max == 0 || !subscriber.has_handlers() {
            return Ok(Vec::new());
        }
        self.list_in_another_file(&subscriber).await?;
        let mut window = max;
        for _ in 0..ROUNDS {
            let batch = self.claim(&subscriber, max, window).await?;
            let found_unreadable = !batch.unreadable.is_empty();
            self.bury_unreadable(batch.unreadable).await?;
            if !batch.received.is_empty() || (batch.parked == 0 && !found_unreadable) {
                return Ok(batch.received.arrive());
            }
            window = WINDOW.max(max);
        }
        // More is there: the next call goes on.
        self.shared.listener.notify();
        Ok(Vec::new())
    }

    async fn settle(&self, settlements: Vec<(Receipt, Settlement)>) -> Result<(), StoreError> {
        let items =
            settlements.into_iter().map(|(receipt, settlement)| SettleItem { receipt, settlement }).collect();
        let subscriber = self.subscriber();
        self.shared.store.writer()?.ask(|reply| Command::Settle { subscriber, items, reply }).await
    }

    async fn extend(&self, receipts: &[Receipt]) -> Result<(), StoreError> {
        let receipts = receipts.to_vec();
        self.shared.store.writer()?.ask(|reply| Command::Extend { receipts, reply }).await
    }

    async fn progressed(&self, receipt: &Receipt) -> Result<(), StoreError> {
        let receipt = receipt.clone();
        self.shared.store.writer()?.ask(|reply| Command::Progress { receipt, reply }).await
    }

    async fn wake(&self) {
        self.shared.listener.woken().await;
    }

    async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        let subscriber = self.subscriber();
        // What has become due since the last claim is to be claimed at once; what was due then is not for this worker.
        let after = match self.shared.looked_at.load(Ordering::Acquire) {
            NEVER => self.shared.store.clock.now().as_millis(),
            looked_at => looked_at,
        };
        let request = format!(
            r#"{{"types":{},"handlers":{},"lease_ms":{},"after":{}}}"#,
            self.types(&subscriber).await?,
            subscriber.handlers,
            self.shared.store.options.queue_lease.as_millis(),
            after,
        );
        self.shared
            .store
            .read(|connection| {
                Box::pin(async move {
                    let due =
                        sqlx::query_scalar::<_, Option<i64>>(include_str!("sql/next_due.sql")).bind(request);
                    let due = due
                        .fetch_one(connection)
                        .await
                        .map_err(|e| store_error("look up the next due time", e))?;
                    Ok(due.map(Timestamp::from_millis))
                })
            })
            .await
    }

    async fn maintain(&self, upkeep: &Upkeep) -> Result<UpkeepReport, StoreError> {
        upkeep::run(&self.shared.store, &self.subscriber(), upkeep).await
    }

    fn store_id(&self) -> Option<StoreId> {
        Some(self.shared.store.id)
    }

    fn lease(&self) -> Duration {
        self.shared.store.options.queue_lease
    }
}

impl std::fmt::Debug for SqliteBus {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SqliteBus")
    }
}
