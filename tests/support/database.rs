//! A database in a directory of its own, seen as an application, as the library, and as an operator sees it.

use std::path::{Path, PathBuf};
use std::time::Duration;

use outbox::{SqliteOptions, SqliteOutbox, Worker, WorkerBuilder};
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqlitePool, SqlitePoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions, Row};
use tempfile::TempDir;

use super::running::quick;
use super::wait::until;

/// A migrated database; its directory goes away with it.
pub(crate) struct Database {
    directory: TempDir,
    pub(crate) store: SqliteOutbox,
    /// Connections that the store knows nothing of, for looking.
    look: SqlitePool,
}

impl Database {
    pub(crate) async fn new() -> Self {
        Self::with(SqliteOptions::default()).await
    }

    pub(crate) async fn with(options: SqliteOptions) -> Self {
        Self::within(tempfile::tempdir().expect("a temporary directory"), options).await
    }

    /// In a directory that is there.
    pub(crate) async fn within(directory: TempDir, options: SqliteOptions) -> Self {
        let file = directory.path().join(FILE);
        let store = SqliteOutbox::connect_with(&url(&file), options).await.expect("the database opens");
        store.migrate().await.expect("the database is migrated");
        let look = SqlitePoolOptions::new().max_connections(2).connect_lazy_with(foreign(&file));
        Self { directory, store, look }
    }

    /// Runs a script of the application's, such as one that creates its tables.
    pub(crate) async fn run(&self, script: &str) {
        let done = sqlx::raw_sql(AssertSqlSafe(script)).execute(&self.look).await;
        done.unwrap_or_else(|error| panic!("{error}: {script}"));
    }

    /// The first column of the first row.
    pub(crate) async fn number(&self, query: &str) -> i64 {
        let found = sqlx::query_scalar(AssertSqlSafe(query)).fetch_one(&self.look).await;
        found.unwrap_or_else(|error| panic!("{error}: {query}"))
    }

    /// The first column of every row.
    pub(crate) async fn texts(&self, query: &str) -> Vec<String> {
        let found = sqlx::query_scalar(AssertSqlSafe(query)).fetch_all(&self.look).await;
        found.unwrap_or_else(|error| panic!("{error}: {query}"))
    }

    /// How many rows of the queue are in a state.
    pub(crate) async fn events(&self, status: &str) -> i64 {
        self.number(&format!("SELECT count(*) FROM event_queue WHERE status = '{status}'")).await
    }

    /// Waits until a query that gives a truth gives it; returns how long it took.
    pub(crate) async fn until(&self, limit: Duration, query: &str) -> Duration {
        until(query, limit, async || self.number(query).await == 1, async || self.describe().await).await
    }

    /// Waits until that many events are done and none is left.
    pub(crate) async fn until_done(&self, limit: Duration, events: i64) -> Duration {
        let query = format!(
            "SELECT count(*) = {events} AND sum(status <> 'done') = 0 AND (SELECT count(*) = 0 FROM processed_events
             WHERE status <> 'done') FROM event_queue"
        );
        self.until(limit, &query).await
    }

    /// What is in queue and ledger, for a test that gives up.
    pub(crate) async fn describe(&self) -> String {
        let mut text = String::new();
        for query in [
            "SELECT 'queue: ' || count(*) || ' ' || status || ', waiting for ' || quote(waits_for) || ', attempts '
                || min(attempts) || '-' || max(attempts) || ', last error ' || coalesce(max(last_error), 'none')
             FROM event_queue GROUP BY status, waits_for",
            "SELECT 'ledger: ' || count(*) || ' ' || handler || ' ' || status || ', attempts ' || min(attempts) || '-'
                || max(attempts) || ', last error ' || coalesce(max(last_error), 'none')
             FROM processed_events GROUP BY handler, status",
        ] {
            match sqlx::query(query).fetch_all(&self.look).await {
                Ok(rows) => rows.iter().for_each(|row| text += &format!("{}\n", row.get::<String, _>(0))),
                Err(error) => text += &format!("{error}\n"),
            }
        }
        text
    }

    /// A worker of this database without any handler yet.
    pub(crate) fn worker(&self) -> WorkerBuilder {
        Worker::builder(self.store.bus(), self.store.ledger()).only_given_handlers().settings(quick())
    }

    pub(crate) fn directory(&self) -> &Path {
        self.directory.path()
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.directory.path().join(FILE)
    }

    /// Where handlers write down what they do.
    pub(crate) fn journal(&self) -> PathBuf {
        self.directory.path().join("journal")
    }

    /// A connection that has nothing to do with the store's.
    pub(crate) async fn connect(&self) -> SqliteConnection {
        connect(&self.file()).await
    }
}

const FILE: &str = "app.db";

pub(crate) fn url(file: &Path) -> String {
    format!("sqlite://{}", file.display())
}

/// Opens a file as an application does that knows nothing of the store's settings.
pub(crate) async fn connect(file: &Path) -> SqliteConnection {
    foreign(file).connect().await.expect("the database opens")
}

fn foreign(file: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new().filename(file).busy_timeout(Duration::from_secs(20))
}
