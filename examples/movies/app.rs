//! The application put together: one database for its own tables and the library's, a folder of posters, a worker.

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use outbox::prelude::*;
use outbox::{EventState, SqliteOptions, shutdown_on_signal};
use sqlx::SqlitePool;

use crate::posters::Posters;
use crate::runs::Runs;

/// Short, so that a run after a crash need not wait long for what the dead process held.
const LEASE: Duration = Duration::from_secs(5);

/// How often to look whether everything is handled.
const LOOK: Duration = Duration::from_millis(50);

/// How long to wait for handlers that get nowhere.
const PATIENCE: Duration = Duration::from_secs(60);

/// What every command works with.
pub(crate) struct App {
    pub(crate) pool: SqlitePool,
    pub(crate) store: SqliteOutbox,
    pub(crate) posters: Posters,
    pub(crate) runs: Arc<Runs>,
}

impl App {
    /// Opens the folder, and makes the database and its tables if need be.
    pub(crate) async fn open(folder: &Path, runs: Arc<Runs>) -> Result<Self> {
        fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let url = format!("sqlite://{}", folder.join("movies.db").display());
        let options = SqliteOptions { queue_lease: LEASE, ..SqliteOptions::default() };
        let store = SqliteOutbox::connect_with(&url, options).await?;
        store.migrate().await?;
        let pool = store.pool().clone();
        sqlx::raw_sql(include_str!("schema.sql")).execute(&pool).await.context("cannot make the tables")?;
        let posters = Posters::open(folder.join("posters"), pool.clone())?;
        Ok(Self { pool, store, posters, runs })
    }

    /// Does `work` while the handlers run, and goes on until every event is handled or a signal comes.
    pub(crate) async fn beside_worker<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let worker = self.worker()?;
        let shutdown = shutdown_on_signal()?;
        let mut running = tokio::spawn({
            let shutdown = shutdown.clone();
            async move { worker.run(shutdown).await }
        });
        let handled = async {
            let outcome = work.await?;
            self.until_handled().await?;
            Ok(outcome)
        };
        let outcome = tokio::select! {
            outcome = handled => outcome,
            ended = &mut running => { ended??; bail!("the worker ended") }
            () = shutdown.cancelled() => Err(anyhow!("interrupted; run the command again to go on")),
        };
        shutdown.cancel();
        running.await??;
        outcome
    }

    fn worker(&self) -> Result<Worker> {
        let settings = WorkerSettings { lease: LEASE, ..WorkerSettings::default() };
        let builder = Worker::builder(self.store.bus(), self.store.ledger()).settings(settings);
        Ok(builder.state(self.posters.clone()).state(self.store.clone()).build()?)
    }

    /// Waits until no event is left, or until nothing has moved for a while.
    async fn until_handled(&self) -> Result<()> {
        let mut left = u64::MAX;
        let mut moved = Instant::now();
        loop {
            let status = self.store.admin().status().await?;
            let now_left = status.count(EventState::Pending) + status.count(EventState::Processing);
            if now_left == 0 {
                return Ok(());
            }
            if now_left != left {
                (left, moved) = (now_left, Instant::now());
            }
            if moved.elapsed() > PATIENCE {
                bail!(
                    "{left} events are not handled, and none was for {PATIENCE:?}; `status` shows what they wait for"
                );
            }
            tokio::time::sleep(LOOK).await;
        }
    }
}
