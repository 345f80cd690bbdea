//! A whole application from the environment.

use std::time::{Duration, Instant};

use outbox_core::{
    BuildError, CancellationToken, InvalidSetting, StoreError, Worker, WorkerBuilder, WorkerError,
    WorkerSettings,
};
use outbox_sqlite::{MigrateError, SqliteOptions, SqliteOutbox};

use crate::variables;

/// Store and worker as the variables of the environment say: the wiring of most `main` functions.
///
/// | variable | meaning | default |
/// |---|---|---|
/// | `DATABASE_URL` | the database, `sqlite://path` | required |
/// | `EVENT_BUS_BACKEND` | `db`: the database's own queue | `db` |
/// | `EVENT_QUEUE_LEASE_SECONDS` | how long a received row stays with its worker | 60 |
/// | `EVENT_LEDGER_LEASE_SECONDS` | how long a claim is valid unless renewed | 60 |
/// | `EVENT_QUEUE_MAX_ATTEMPTS` | attempts of a handler | 10 |
/// | `EVENT_CONCURRENCY` | handler runs at a time | 64 |
/// | `EVENT_POLL_SECONDS` | how often to look when nothing wakes the worker | 1 |
/// | `EVENT_RETENTION_DAYS` | how long done events are kept | 7 |
/// | `EVENT_DEAD_RETENTION_DAYS` | how long dead-lettered events are kept | 90 |
/// | `EVENT_LEDGER_RETENTION_DAYS` | how long the ledger remembers | 30 |
///
/// A value that is out of bounds fails the start, and so does a variable `EVENT_*` whose name is at most three edits away
/// from one of these. Other names that begin as theirs do, such as `EVENT_QUEUE_…`, are told in a warning.
///
/// ```no_run
/// # #[derive(Clone)] struct Posters;
/// # async fn run() -> Result<(), Box<dyn std::error::Error>> {
/// let app = outbox::App::from_env().await?;
/// let store = app.store().clone(); // to write with: `store.begin()`
/// app.worker(|builder| builder.state(Posters)).run_until_signal().await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct App {
    store: SqliteOutbox,
    settings: WorkerSettings,
}

/// Why an [`App`] does not start or ended early.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AppError {
    /// A variable is missing, unknown or out of bounds.
    #[error(transparent)]
    Setting(#[from] InvalidSetting),
    /// The database cannot be opened.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The tables cannot be brought to this version.
    #[error(transparent)]
    Migrate(#[from] MigrateError),
    /// The worker cannot be built.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The worker ended before it was done.
    #[error(transparent)]
    Worker(#[from] WorkerError),
    /// The signals of the operating system cannot be listened to.
    #[error("signals cannot be listened to")]
    Signal(#[source] std::io::Error),
}

/// A worker that is ready to be run, made by [`App::worker`].
pub struct AppWorker {
    worker: Result<Worker, BuildError>,
}

impl App {
    /// Opens the database and brings its tables to this version.
    ///
    /// # Errors
    ///
    /// [`AppError`], naming the variable, the value and what is allowed, or what is wrong with the database.
    pub async fn from_env() -> Result<Self, AppError> {
        variables::check(std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()))?;
        let lookup = |name: &str| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
        let settings = WorkerSettings::from_lookup(lookup)?;
        let options = SqliteOptions::from_lookup(lookup)?;
        if let Some(backend) = lookup("EVENT_BUS_BACKEND").filter(|backend| backend != "db") {
            return Err(
                InvalidSetting::new("EVENT_BUS_BACKEND", format!("{backend:?}"), "must be `db`").into()
            );
        }
        let url = lookup("DATABASE_URL").filter(|url| !url.is_empty());
        let missing = || {
            InvalidSetting::new(
                "DATABASE_URL",
                "(not set)",
                "must name the database, such as sqlite://app.db",
            )
        };
        let store = SqliteOutbox::connect_with(&url.ok_or_else(missing)?, options).await?;
        store.migrate().await?;
        Ok(Self { store, settings })
    }

    /// The store, to enqueue with.
    #[must_use]
    pub fn store(&self) -> &SqliteOutbox {
        &self.store
    }

    /// Builds the worker from the handlers of this binary; `add` adds state, run-time handlers, expectations.
    #[must_use]
    pub fn worker(&self, add: impl FnOnce(WorkerBuilder) -> WorkerBuilder) -> AppWorker {
        let builder = Worker::builder(self.store.bus(), self.store.ledger()).settings(self.settings.clone());
        AppWorker { worker: add(builder).build() }
    }
}

impl AppWorker {
    /// The worker, for its health and for running it by hand.
    ///
    /// # Errors
    ///
    /// [`AppError::Build`].
    pub fn build(self) -> Result<Worker, AppError> {
        Ok(self.worker?)
    }

    /// Works until SIGTERM or SIGINT (Ctrl-C), then lets running handlers finish. A second signal ends the process at
    /// once, with exit code 130; what runs then is retried when its lease is over.
    ///
    /// # Errors
    ///
    /// [`AppError`].
    pub async fn run_until_signal(self) -> Result<(), AppError> {
        let worker = self.build()?;
        let shutdown = shutdown_on_signal().map_err(AppError::Signal)?;
        Ok(worker.run(shutdown).await?)
    }
}

/// A token that is cancelled by SIGTERM or SIGINT (Ctrl-C). A second signal ends the process at once, with exit code
/// 130, unless it comes within a second of the first: who stops a process often signals both it and its group.
///
/// Signals are waited for on a thread of its own, so that a handler that blocks the application's threads does not keep
/// them away.
///
/// # Errors
///
/// The operating system refuses to deliver signals, or another thread.
pub fn shutdown_on_signal() -> std::io::Result<CancellationToken> {
    let shutdown = CancellationToken::new();
    let cancelled = shutdown.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Before the thread starts, so that from here on no signal ends the process by itself.
    let mut signals = {
        let _within = runtime.enter();
        Signals::new()?
    };
    std::thread::Builder::new().name("outbox-signals".to_owned()).spawn(move || {
        runtime.block_on(async {
            signals.next().await;
            cancelled.cancel();
            let first = Instant::now();
            while first.elapsed() < ONE_SIGNAL {
                signals.next().await;
            }
            std::process::exit(130);
        });
    })?;
    Ok(shutdown)
}

/// Signals within this time count as one.
const ONE_SIGNAL: Duration = Duration::from_secs(1);

#[cfg(unix)]
struct Signals {
    terminate: tokio::signal::unix::Signal,
    interrupt: tokio::signal::unix::Signal,
}

#[cfg(unix)]
impl Signals {
    fn new() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { terminate: signal(SignalKind::terminate())?, interrupt: signal(SignalKind::interrupt())? })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

#[cfg(not(unix))]
struct Signals;

#[cfg(not(unix))]
impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Self)
    }

    async fn next(&mut self) {
        // An error here means that no signal can ever come.
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}
