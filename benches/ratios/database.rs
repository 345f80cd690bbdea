//! Databases to measure on: a file of its own in a directory that goes away with it.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use outbox::{NewEvent, SqliteOptions, SqliteOutbox, Synchronous, enqueue_events};
use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, ConnectOptions};
use tempfile::TempDir;

/// Both settings of `synchronous`, with their names.
pub(crate) const MODES: [(Synchronous, &str); 2] =
    [(Synchronous::Normal, "NORMAL"), (Synchronous::Full, "FULL")];

pub(crate) struct Database {
    directory: TempDir,
    synchronous: Synchronous,
    store: SqliteOutbox,
}

impl Database {
    /// An empty one, with the tables of the migrations.
    pub(crate) async fn new(synchronous: Synchronous) -> Result<Self> {
        let directory = tempfile::tempdir()?;
        let store = open(&directory.path().join("app.db"), synchronous).await?;
        store.migrate().await?;
        Ok(Self { directory, synchronous, store })
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.directory.path().join("app.db")
    }

    pub(crate) fn synchronous(&self) -> Synchronous {
        self.synchronous
    }

    pub(crate) fn store(&self) -> &SqliteOutbox {
        &self.store
    }

    /// A connection with the pool's own options.
    pub(crate) async fn sqlx(&self) -> Result<SqliteConnection> {
        Ok(self.store.pool().connect_options().connect().await?)
    }

    /// A connection with the pragmas that the pool's have.
    pub(crate) fn rusqlite(&self) -> Result<rusqlite::Connection> {
        let connection = rusqlite::Connection::open(self.file())?;
        connection.busy_timeout(std::time::Duration::from_secs(5))?;
        let synchronous = mode_name(self.synchronous);
        connection.execute_batch(&format!(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous}; PRAGMA foreign_keys = ON;
             PRAGMA journal_size_limit = 4194304"
        ))?;
        Ok(connection)
    }

    /// Runs a script of the benchmark's own.
    pub(crate) async fn script(&self, script: &str) -> Result<()> {
        sqlx::raw_sql(AssertSqlSafe(script)).execute(self.store.pool()).await?;
        Ok(())
    }

    pub(crate) async fn number(&self, query: &'static str) -> Result<i64> {
        Ok(sqlx::query_scalar(query).fetch_one(self.store.pool()).await?)
    }

    /// Enqueues through the library, in transactions of 10,000 at most, and starts the write-ahead log anew, so that
    /// what is timed afterwards starts from the same place.
    pub(crate) async fn fill(&self, count: usize, event: impl Fn(usize) -> Result<NewEvent>) -> Result<()> {
        const STEP: usize = 10_000;
        for start in (0..count).step_by(STEP) {
            let events = (start..count.min(start + STEP)).map(&event).collect::<Result<Vec<_>>>()?;
            let mut tx = self.store.pool().begin_with("BEGIN IMMEDIATE").await?;
            enqueue_events(&mut *tx, events).await?;
            tx.commit().await?;
        }
        self.script("PRAGMA wal_checkpoint(TRUNCATE)").await
    }

    /// Fails unless every event is done in the queue and by the handler, `count` of them.
    pub(crate) async fn expect_done(&self, count: usize) -> Result<()> {
        let rows = self.number("SELECT count(*) FROM event_queue WHERE status = 'done'").await?;
        let claims = self
            .number("SELECT count(*) FROM processed_events WHERE status = 'done' AND attempts = 1")
            .await?;
        let all = self.number("SELECT count(*) FROM event_queue").await?;
        ensure!(
            (rows, claims, all) == (count as i64, count as i64, count as i64),
            "of {count} events {all} are there, {rows} are done in the queue, {claims} in the ledger"
        );
        Ok(())
    }
}

/// Opens the database of another process, or of a child.
pub(crate) async fn open(file: &Path, synchronous: Synchronous) -> Result<SqliteOutbox> {
    let options = SqliteOptions { synchronous, ..SqliteOptions::default() };
    let url = format!("sqlite://{}", file.display());
    SqliteOutbox::connect_with(&url, options).await.with_context(|| url)
}

pub(crate) fn mode_name(synchronous: Synchronous) -> &'static str {
    MODES.iter().find(|(mode, _)| *mode == synchronous).map_or("FULL", |(_, name)| name)
}

/// The inverse of [`mode_name`], for the command line of a child.
pub(crate) fn mode(name: &str) -> Synchronous {
    MODES.iter().find(|(_, known)| *known == name).map_or(Synchronous::Full, |(mode, _)| *mode)
}
