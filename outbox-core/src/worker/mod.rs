//! The worker: receives events, runs handlers, settles.

mod builder;
mod fetch;
pub(crate) mod health;
pub(crate) mod heartbeat;
pub(crate) mod in_hand;
pub(crate) mod room;
mod setting;
pub(crate) mod settings;
pub(crate) mod shared;
mod upkeep;

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::{info, warn};

pub use self::builder::{BuildError, WorkerBuilder};
pub use self::health::Health;
use self::health::{Presence, Step};
pub use self::setting::{InvalidSetting, seconds, whole_number};
pub use self::settings::WorkerSettings;
use self::shared::WorkerShared;
use crate::telemetry::WorkerMetrics;
use crate::{Bus, Ledger, StoreErrorKind, Subscription};

/// Receives events from a bus and runs the handlers of this binary on them, each once per event by its ledger.
///
/// Errors of the database back off, are logged once per kind, show in [`health`](Worker::health), and never end it.
///
/// ```
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// use outbox_core::{CancellationToken, MemoryOutbox, Worker};
///
/// let store = MemoryOutbox::new();
/// let worker = Worker::builder(store.bus(), store.ledger()).build()?;
/// let shutdown = CancellationToken::new();
/// # shutdown.cancel();
/// worker.run(shutdown).await?; // drains when it is cancelled, then returns
/// # Ok(())
/// # }
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(run()).unwrap();
/// ```
#[derive(Clone)]
pub struct Worker {
    shared: Arc<WorkerShared>,
    settings: WorkerSettings,
}

/// Why a worker ended before it was done.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorkerError {
    /// Handlers were still running when the grace period was over. They were dropped and given back, and run again.
    #[error(
        "{runs} events were still being handled {grace:?} after the shutdown; they were given back and run again"
    )]
    GraceExceeded {
        /// How many.
        runs: usize,
        /// The grace period.
        grace: Duration,
    },
    /// The database is not one that trying again can mend, found at start.
    #[error(transparent)]
    Start(crate::StoreError),
    /// The heartbeat's thread could not be started.
    #[error("the heartbeat's thread could not be started")]
    Heartbeat(#[source] std::io::Error),
}

impl Worker {
    /// A worker that receives from `bus` and keeps its books in `ledger`.
    pub fn builder<B: Bus, L: Ledger>(bus: B, ledger: L) -> WorkerBuilder {
        WorkerBuilder::new(Arc::new(bus), Arc::new(ledger))
    }

    /// How it is doing. Cheap; for a readiness probe.
    #[must_use]
    pub fn health(&self) -> Health {
        self.shared.health.report(self.shared.heartbeat.is_failing())
    }

    /// Works until `shutdown` is cancelled, then takes nothing more, lets running handlers finish, and returns.
    ///
    /// Handlers that still run when the grace period is over are dropped and given back, due at once. So they are when
    /// this future is dropped instead of being shut down.
    ///
    /// # Errors
    ///
    /// [`WorkerError`]: the grace period was exceeded, or the start failed for good.
    pub async fn run(&self, shutdown: CancellationToken) -> Result<(), WorkerError> {
        let worker = self.shared.for_a_run();
        let mut presence = worker.health.starts();
        let Some(subscribed) = shutdown.run_until_cancelled(subscribe(&worker)).await else {
            return Ok(());
        };
        subscribed?;
        let heartbeat = self.start_heartbeat(&worker)?;
        presence.has_started();
        let _ends = EndsWithRun { worker: Arc::clone(&worker), heartbeat, _presence: presence };
        info!(
            name: "outbox.worker.started",
            owner = %worker.owner, handlers = worker.handlers.len(), concurrency = self.settings.concurrency,
            "worker started"
        );
        if worker.handlers.is_empty() {
            warn!(
                name: "outbox.worker.no_handlers",
                owner = %worker.owner,
                "no handler is registered, so nothing is handled: a crate of handlers must be named by the binary (`use its_name as _;`) or given with `.handlers(…)`"
            );
        }
        let metrics = WorkerMetrics::new();
        let runs = TaskTracker::new();
        tokio::select! {
            () = fetch::run(&worker, &self.settings, &metrics, &runs, &shutdown) => {}
            () = upkeep::run(&worker, &self.settings, &metrics) => {}
        }
        let drained = self.drain(&worker, &runs).await;
        info!(name: "outbox.worker.stopped", owner = %worker.owner, "worker stopped");
        drained
    }

    /// Starts renewing; until the token is cancelled.
    fn start_heartbeat(&self, worker: &WorkerShared) -> Result<CancellationToken, WorkerError> {
        let stop = CancellationToken::new();
        let (bus, ledger) = (Arc::clone(&worker.bus), Arc::clone(&worker.ledger));
        let started = worker.heartbeat.start(bus, ledger, self.heartbeat_interval(), stop.clone());
        started.map(|()| stop).map_err(WorkerError::Heartbeat)
    }

    /// A third of the shortest lease: one beat renews them all.
    fn heartbeat_interval(&self) -> Duration {
        let leases = self.shared.handlers.iter().map(|handler| handler.lease);
        leases.chain([self.shared.bus.lease()]).min().unwrap_or(self.settings.lease) / 3
    }

    async fn drain(&self, worker: &WorkerShared, runs: &TaskTracker) -> Result<(), WorkerError> {
        runs.close();
        tokio::select! {
            biased;
            () = runs.wait() => return Ok(()),
            () = worker.clock.sleep(self.settings.grace) => {}
        }
        let late = runs.len();
        warn!(runs = late, "grace period is over: handlers are dropped and given back");
        worker.abort.cancel();
        // Dropped runs are given back in one write each; a store that hangs must not keep the process.
        tokio::select! {
            () = runs.wait() => {}
            () = worker.clock.sleep(GIVE_BACK) => {}
        }
        Err(WorkerError::GraceExceeded { runs: late, grace: self.settings.grace })
    }
}

/// Lists the handlers with the bus. Failures that may pass are waited out.
async fn subscribe(worker: &WorkerShared) -> Result<(), WorkerError> {
    let subscription = Subscription {
        owner: worker.owner,
        handlers: worker.handlers.iter().map(|handler| handler.subscribed()).collect(),
        grant_claims: worker.joint,
    };
    let mut pause = worker.store_pause();
    while let Err(failure) = worker.bus.subscribe(subscription.clone()).await {
        worker.health.store_failed(Step::Subscribe, &failure);
        let hopeless = matches!(failure.kind(), StoreErrorKind::Corrupt | StoreErrorKind::Invalid);
        if hopeless || !pause.wait().await {
            return Err(WorkerError::Start(failure));
        }
    }
    worker.health.store_works(Step::Subscribe);
    Ok(())
}

/// What must not outlive a run, also when its future is dropped: then handlers that still run lose their heartbeat, so
/// they are dropped and given back.
struct EndsWithRun {
    worker: Arc<WorkerShared>,
    heartbeat: CancellationToken,
    _presence: Presence,
}

impl Drop for EndsWithRun {
    fn drop(&mut self) {
        self.worker.abort.cancel();
        self.heartbeat.cancel();
    }
}

/// How long giving back may take after the grace period.
const GIVE_BACK: Duration = Duration::from_secs(2);

impl std::fmt::Debug for Worker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Worker")
            .field("owner", &self.shared.owner)
            .field("handlers", &self.shared.handlers.len())
            .finish()
    }
}
