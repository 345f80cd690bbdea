//! What a process started by a test does: the test binary runs itself again, with a plan in an environment variable.

use std::path::PathBuf;
use std::time::Duration;

use outbox::{
    Backoff, NewEvent, SqliteOptions, SqliteOutbox, Worker, WorkerError, WorkerSettings, enqueue_events,
};
use serde::{Deserialize, Serialize};

use super::database::url;
use super::handlers::{self, Does, Job};
use super::journal::Journal;

/// The variable that holds the plan.
pub(crate) const PLAN: &str = "OUTBOX_TEST_PLAN";
/// The name of the ignored test that is the body of such a process.
pub(crate) const BODY: &str = "support::child::body";
/// A process whose test has died ends by itself.
const LIFE: Duration = Duration::from_secs(170);

/// A worker process. It runs the handlers of [`handlers`] until SIGTERM.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Plan {
    pub(crate) database: PathBuf,
    pub(crate) journal: PathBuf,
    /// Threads of its runtime.
    pub(crate) threads: usize,
    pub(crate) concurrency: usize,
    pub(crate) max_attempts: u32,
    pub(crate) lease_ms: u64,
    pub(crate) timeout_ms: u64,
    pub(crate) transaction_timeout_ms: u64,
    pub(crate) grace_ms: u64,
    pub(crate) poll_ms: u64,
    pub(crate) upkeep_ms: u64,
    pub(crate) backoff_ms: u64,
    pub(crate) busy_timeout_ms: u64,
    /// An event that it enqueues at start, due so much later.
    pub(crate) delayed_ms: Option<u64>,
}

impl Plan {
    /// Short leases, so that the tests are.
    pub(crate) fn new(database: PathBuf, journal: PathBuf) -> Self {
        Self {
            database,
            journal,
            threads: 1,
            concurrency: 1,
            max_attempts: 10,
            lease_ms: 1_000,
            timeout_ms: 60_000,
            transaction_timeout_ms: 2_000,
            grace_ms: 15_000,
            poll_ms: 50,
            upkeep_ms: 60_000,
            backoff_ms: 100,
            busy_timeout_ms: 5_000,
            delayed_ms: None,
        }
    }

    fn options(&self) -> SqliteOptions {
        SqliteOptions {
            queue_lease: Duration::from_millis(self.lease_ms),
            busy_timeout: Duration::from_millis(self.busy_timeout_ms),
            ..SqliteOptions::default()
        }
    }

    fn settings(&self) -> WorkerSettings {
        let base = Duration::from_millis(self.backoff_ms);
        WorkerSettings {
            concurrency: self.concurrency,
            max_attempts: self.max_attempts,
            lease: Duration::from_millis(self.lease_ms),
            timeout: Duration::from_millis(self.timeout_ms),
            transaction_timeout: Duration::from_millis(self.transaction_timeout_ms),
            grace: Duration::from_millis(self.grace_ms),
            poll: Duration::from_millis(self.poll_ms),
            backoff: Backoff { base, cap: base * 60 },
            upkeep_interval: Duration::from_millis(self.upkeep_ms),
            ..WorkerSettings::default()
        }
    }
}

/// How such a process ends.
pub(crate) mod exit {
    pub(crate) const DRAINED: i32 = 0;
    pub(crate) const GRACE_EXCEEDED: i32 = 3;
    pub(crate) const FAILED: i32 = 4;
    pub(crate) const TOO_LONG: i32 = 5;
    /// The library's own answer to a second signal.
    pub(crate) const SECOND_SIGNAL: i32 = 130;
}

/// The body of a process. In a run of all ignored tests there is no plan, and nothing to do.
#[test]
#[ignore = "the body of a process that other tests start"]
fn body() {
    let Ok(plan) = std::env::var(PLAN) else { return };
    let plan: Plan = serde_json::from_str(&plan).expect("the plan is one of ours");
    // To standard error, which the test keeps in a file.
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).init();
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(plan.threads).enable_all().build();
    let code = runtime.expect("a runtime").block_on(live(plan));
    // Without waiting for threads that handlers have left behind.
    std::process::exit(code);
}

async fn live(plan: Plan) -> i32 {
    tokio::select! {
        code = work(plan) => code,
        () = tokio::time::sleep(LIFE) => exit::TOO_LONG,
    }
}

async fn work(plan: Plan) -> i32 {
    let shutdown = outbox::shutdown_on_signal().expect("signals can be listened to");
    let journal = Journal::open(&plan.journal);
    let worker = match worker(&plan, &journal).await {
        Ok(worker) => worker,
        Err(error) => {
            tracing::error!(error, "the process cannot start");
            return exit::FAILED;
        }
    };
    journal.say("ready");
    match worker.run(shutdown).await {
        Ok(()) => exit::DRAINED,
        Err(error @ WorkerError::GraceExceeded { .. }) => {
            tracing::error!(%error, "the worker ended");
            exit::GRACE_EXCEEDED
        }
        Err(error) => {
            tracing::error!(%error, "the worker ended");
            exit::FAILED
        }
    }
}

async fn worker(plan: &Plan, journal: &Journal) -> Result<Worker, String> {
    let opened = SqliteOutbox::connect_with(&url(&plan.database), plan.options()).await;
    let store = opened.map_err(|error| outbox::chain(&error))?;
    store.migrate().await.map_err(|error| outbox::chain(&error))?;
    let builder = Worker::builder(store.bus(), store.ledger())
        .only_given_handlers()
        .handlers(handlers::all())
        .settings(plan.settings())
        .state(journal.clone());
    if let Some(millis) = plan.delayed_ms {
        let mut tx = store.pool().begin_with("BEGIN IMMEDIATE").await.map_err(|error| error.to_string())?;
        let delayed = NewEvent::new(&Job { does: Does::Nothing }).map_err(|error| error.to_string())?;
        let delayed = delayed.after(Duration::from_millis(millis));
        enqueue_events(&mut tx, [delayed]).await.map_err(|error| error.to_string())?;
        tx.commit().await.map_err(|error| error.to_string())?;
    }
    builder.build().map_err(|error| error.to_string())
}
