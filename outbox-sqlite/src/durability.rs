//! Which transactions wait for the disk.
//!
//! With `synchronous = FULL` a commit returns when the disk has it, which takes longer than all the rest of a small
//! transaction. A claim need not wait: one that is lost with the power, before anything else was committed, is made again,
//! and no other process has seen it. Once something that must last is committed, the write-ahead log is written out up to
//! there, claims included. (<https://www.sqlite.org/pragma.html#pragma_synchronous>)

use sqlx::sqlite::SqliteConnection;

/// What the commits of a connection wait for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Durability {
    /// The value of `PRAGMA synchronous`.
    level: i64,
    has_write_ahead_log: bool,
}

/// Statements around a transaction that does not wait for the disk.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Relaxed {
    pub(crate) before: &'static str,
    pub(crate) after: &'static str,
}

const FULL: i64 = 2;
const EXTRA: i64 = 3;
const RELAX: &str = "PRAGMA synchronous = NORMAL;\n";

impl Durability {
    pub(crate) async fn of(connection: &mut SqliteConnection) -> Result<Self, sqlx::Error> {
        let level = sqlx::query_scalar("PRAGMA synchronous").fetch_one(&mut *connection).await?;
        let mode: String = sqlx::query_scalar("PRAGMA journal_mode").fetch_one(connection).await?;
        Ok(Self { level, has_write_ahead_log: mode == "wal" })
    }

    /// How not to wait; `None` if commits do not wait anyway, or if one that did not wait could damage the file, as with a
    /// rollback journal.
    pub(crate) fn relaxed(self) -> Option<Relaxed> {
        let after = match self.level {
            FULL => "PRAGMA synchronous = FULL;\n",
            EXTRA => "PRAGMA synchronous = EXTRA;\n",
            _ => return None,
        };
        self.has_write_ahead_log.then_some(Relaxed { before: RELAX, after })
    }
}

#[cfg(test)]
mod tests {
    use sqlx::ConnectOptions;
    use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqliteSynchronous};

    use super::*;

    #[tokio::test]
    async fn only_what_would_wait_and_has_a_write_ahead_log_is_relaxed_and_set_back() {
        let directory = tempfile::tempdir().unwrap();
        let file =
            SqliteConnectOptions::new().filename(directory.path().join("app.db")).create_if_missing(true);
        for (synchronous, expected) in [
            (SqliteSynchronous::Off, None),
            (SqliteSynchronous::Normal, None),
            (SqliteSynchronous::Full, Some(FULL)),
            (SqliteSynchronous::Extra, Some(EXTRA)),
        ] {
            let options = file.clone().journal_mode(SqliteJournalMode::Wal).synchronous(synchronous);
            let mut connection = options.connect().await.unwrap();
            let relaxed = Durability::of(&mut connection).await.unwrap().relaxed();
            assert_eq!(relaxed.is_some(), expected.is_some(), "{synchronous:?}");
            let (Some(relaxed), Some(expected)) = (relaxed, expected) else { continue };
            sqlx::raw_sql(relaxed.before).execute(&mut connection).await.unwrap();
            assert!(
                Durability::of(&mut connection).await.unwrap().relaxed().is_none(),
                "it waits for nothing now"
            );
            sqlx::raw_sql(relaxed.after).execute(&mut connection).await.unwrap();
            assert_eq!(Durability::of(&mut connection).await.unwrap().level, expected);
        }
        let options = file.journal_mode(SqliteJournalMode::Delete).synchronous(SqliteSynchronous::Full);
        let mut connection = options.connect().await.unwrap();
        assert!(Durability::of(&mut connection).await.unwrap().relaxed().is_none());
    }
}
