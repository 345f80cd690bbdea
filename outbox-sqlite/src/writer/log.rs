//! Keeping the write-ahead log small while there is little to do.
//!
//! SQLite shortens the log when a writer begins it anew. After a burst nobody does, and it would stay as long as it was:
//! the pages of a checkpoint and one large transaction. (<https://www.sqlite.org/wal.html#avoiding_excessively_large_wal_files>)

use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Executor};

use crate::connect::JOURNAL_SIZE_LIMIT;
use crate::file::DatabaseFile;
use crate::gate::Pass;

pub(super) struct Log {
    file: Arc<DatabaseFile>,
    looked_at: Option<Instant>,
}

/// Least time between two looks.
const PAUSE: Duration = Duration::from_secs(1);

impl Log {
    pub(super) fn new(file: Arc<DatabaseFile>) -> Self {
        Self { file, looked_at: None }
    }

    /// Empties the log if it is too long and nobody reads from it. For moments with little to do.
    pub(super) async fn shorten(&mut self, pass: &mut Pass) {
        let now = Instant::now();
        if self.looked_at.is_some_and(|at| now.saturating_duration_since(at) < PAUSE) {
            return;
        }
        self.looked_at = Some(now);
        if self.file.log_bytes() > JOURNAL_SIZE_LIMIT
            && pass.open_connection().await.is_ok()
            && let Err(error) = empty(pass.connection()).await
        {
            tracing::debug!(%error, "the write-ahead log could not be emptied; it will be tried again");
        }
    }
}

/// Does not wait for readers: writers would wait with it.
async fn empty(connection: &mut SqliteConnection) -> Result<(), sqlx::Error> {
    let patience: i64 = sqlx::query_scalar("PRAGMA busy_timeout").fetch_one(&mut *connection).await?;
    connection.execute("PRAGMA busy_timeout = 0").await?;
    let emptied = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").await;
    connection.execute(AssertSqlSafe(format!("PRAGMA busy_timeout = {patience}"))).await?;
    emptied.map(|_| ())
}
