//! What all runs of one worker share.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::health::HealthState;
use super::heartbeat::Heartbeat;
use crate::any_handler::AnyHandler;
use crate::telemetry::HandlerMetrics;
use crate::{Backoff, Bus, Ledger, SharedClock, StateMap, SubscribedHandler};

#[derive(Clone)]
pub(crate) struct WorkerShared {
    /// A UUID per run of a worker: half of every claim's token.
    pub(crate) owner: Uuid,
    pub(crate) bus: Arc<dyn Bus>,
    pub(crate) ledger: Arc<dyn Ledger>,
    /// Whether bus and ledger are of one store, which then claims and settles both in one transaction.
    pub(crate) joint: bool,
    pub(crate) clock: SharedClock,
    pub(crate) backoff: Backoff,
    pub(crate) state: StateMap,
    pub(crate) handlers: Vec<Arc<WorkerHandler>>,
    pub(crate) heartbeat: Heartbeat,
    pub(crate) health: Arc<HealthState>,
    /// Cancelled when the grace period is over: runs are dropped and given back.
    pub(crate) abort: CancellationToken,
}

/// A handler with the terms that apply in this worker.
pub(crate) struct WorkerHandler {
    pub(crate) name: Arc<str>,
    pub(crate) timeout: Duration,
    pub(crate) max_attempts: u32,
    pub(crate) lease: Duration,
    pub(crate) transactional: bool,
    pub(crate) metrics: HandlerMetrics,
    pub(crate) handler: AnyHandler,
}

impl WorkerHandler {
    /// Whether it may run on such an event. A version above the known one waits for a newer worker.
    pub(crate) fn takes(&self, event_type: &str, version: u32) -> bool {
        self.handler.handles(event_type) && version <= self.handler.max_version
    }

    pub(crate) fn subscribed(&self) -> SubscribedHandler {
        SubscribedHandler {
            name: Arc::clone(&self.name),
            event_type: Arc::clone(&self.handler.event_type),
            max_version: self.handler.max_version,
            max_attempts: self.max_attempts,
            lease: self.lease,
            on_dead: self.handler.terms.on_dead.unwrap_or_default(),
        }
    }
}

impl WorkerShared {
    /// The same worker for one run, which is a process of its own to the ledger, and is aborted alone.
    pub(crate) fn for_a_run(&self) -> Arc<Self> {
        Arc::new(Self { owner: Uuid::new_v4(), abort: CancellationToken::new(), ..self.clone() })
    }

    pub(crate) fn handler(&self, name: &str) -> Option<&Arc<WorkerHandler>> {
        self.handlers.iter().find(|handler| *handler.name == *name)
    }

    /// Growing pauses between attempts to reach a failing store.
    pub(crate) fn store_pause(&self) -> StorePause<'_> {
        StorePause { worker: self, next: StorePause::FIRST }
    }
}

/// Pauses from 50 ms, doubling up to 2 s.
pub(crate) struct StorePause<'a> {
    worker: &'a WorkerShared,
    next: Duration,
}

impl StorePause<'_> {
    const FIRST: Duration = Duration::from_millis(50);
    const LONGEST: Duration = Duration::from_secs(2);

    /// Waits; false once the worker has given up.
    pub(crate) async fn wait(&mut self) -> bool {
        let pause = self.next;
        self.next = (pause * 2).min(Self::LONGEST);
        self.worker.abort.run_until_cancelled(self.worker.clock.sleep(pause)).await.is_some()
    }
}
