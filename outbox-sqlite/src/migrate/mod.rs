//! Bringing a database's tables to the version that this library needs.

mod adopt;
mod compare;
mod error;
mod history;
mod schema;
mod script;
mod trial;

use std::time::SystemTime;

use outbox_core::Timestamp;
use sqlx::{AssertSqlSafe, Connection, SqliteConnection, SqliteTransaction};

pub use error::MigrateError;
use error::failed;
use history::Entry;
use script::{MIGRATIONS, Migration, Names, newest};

use crate::retry::BusyRetry;

/// A migration that [`migrate`] applied or [`migrate_down`] reversed.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Applied {
    /// Its number, from 1.
    pub version: u32,
    /// Its name.
    pub name: String,
    /// What was there already and was left as it was: tables, indexes, and columns as `table.column`. Empty unless the
    /// database had a queue of its own, which was adopted.
    pub kept: Vec<String>,
}

/// Brings the outbox's tables of a database to the newest version, and returns what was done: nothing if they are.
///
/// * Each migration is one transaction, so that a process that is killed in between leaves a consistent database.
/// * Any number of processes may do so at the same time. One that finds the database locked tries five times, with
///   100 ms to 1 s in between.
/// * The history is kept in the table `outbox_migrations`, apart from the application's own migrations.
/// * A database that has a table `event_queue` of its own is adopted if the columns fit: its rows stay, pending ones are
///   given event ids and are handled. Columns that are there already are kept as they are.
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use sqlx::{ConnectOptions, sqlite::SqliteConnectOptions};
///
/// # let dir = tempfile::tempdir()?;
/// # let file = dir.path().join("app.db");
/// let mut connection = SqliteConnectOptions::new().filename(file).create_if_missing(true).connect().await?;
/// assert_eq!(outbox_sqlite::migrate(&mut connection).await?.len(), 2);
/// assert_eq!(outbox_sqlite::migrate(&mut connection).await?, []);
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// [`MigrateError`]: a database that is newer than this library, whose migrations were altered, or whose tables differ
/// from what is needed, is left as it is.
pub async fn migrate(connection: &mut SqliteConnection) -> Result<Vec<Applied>, MigrateError> {
    let mut done = Vec::new();
    let mut retry = BusyRetry::new();
    loop {
        match step_up(connection).await {
            Ok(Some(applied)) => done.push(applied),
            Ok(None) => return Ok(done),
            Err(error) if error.is_busy() && retry.again().await => {}
            Err(error) => return Err(error),
        }
    }
}

/// Takes the outbox's tables back to version `target`, 0 being a database without them, and returns what was reversed.
///
/// **Deletes what the older version has no place for**: below version 2 the ledger, so that handlers run again for
/// events that are not done; at 0 the queue with its events, unless it was adopted, in which case it stays.
///
/// # Errors
///
/// [`MigrateError`], as for [`migrate`], and for a version that does not exist.
pub async fn migrate_down(
    connection: &mut SqliteConnection,
    target: u32,
) -> Result<Vec<Applied>, MigrateError> {
    if target > newest() {
        return Err(MigrateError::UnknownVersion { asked: target, known: newest() });
    }
    let mut done = Vec::new();
    let mut retry = BusyRetry::new();
    loop {
        match step_down(connection, target).await {
            Ok(Some(reversed)) => done.push(reversed),
            Ok(None) => return Ok(done),
            Err(error) if error.is_busy() && retry.again().await => {}
            Err(error) => return Err(error),
        }
    }
}

/// Applies the next migration, if there is one.
async fn step_up(connection: &mut SqliteConnection) -> Result<Option<Applied>, MigrateError> {
    // Most starts find nothing to do; they need no lock to see that.
    if next(&history::read(connection).await?).is_none() {
        return Ok(None);
    }
    let mut tx = begin(connection).await?;
    // Somebody else may have been faster.
    let Some(migration) = next(&history::read(&mut tx).await?) else {
        return Ok(None);
    };
    let kept = adopt::inspect(&mut tx, migration).await?;
    run(&mut tx, migration.up_without(&kept), migration).await?;
    history::record(&mut tx, migration, &kept, Timestamp::from(SystemTime::now())).await?;
    tx.commit().await.map_err(failed("commit a migration"))?;
    Ok(Some(applied(migration, kept)))
}

/// Reverses the last migration, if it is above the target.
async fn step_down(connection: &mut SqliteConnection, target: u32) -> Result<Option<Applied>, MigrateError> {
    let mut tx = begin(connection).await?;
    let mut history = history::read(&mut tx).await?;
    let Some(Entry { migration, kept }) = history.pop().filter(|last| last.migration.version > target) else {
        return Ok(None);
    };
    run(&mut tx, migration.down_without(&kept), migration).await?;
    history::forget(&mut tx, migration).await?;
    tx.commit().await.map_err(failed("commit the reversal of a migration"))?;
    Ok(Some(applied(migration, kept)))
}

fn next(history: &[Entry]) -> Option<&'static Migration> {
    MIGRATIONS.get(history.len())
}

/// Rolls back when dropped, so neither an error nor a cancelled call leaves the connection in a transaction.
async fn begin(connection: &mut SqliteConnection) -> Result<SqliteTransaction<'_>, MigrateError> {
    connection.begin_with("BEGIN IMMEDIATE").await.map_err(failed("begin a migration"))
}

async fn run(
    connection: &mut SqliteConnection,
    script: String,
    migration: &Migration,
) -> Result<(), MigrateError> {
    let what = format!("run migration {:04}_{}", migration.version, migration.name);
    sqlx::raw_sql(AssertSqlSafe(script)).execute(connection).await.map_err(failed(&what))?;
    Ok(())
}

fn applied(migration: &Migration, kept: Names) -> Applied {
    let kept = kept.into_iter().collect();
    Applied { version: migration.version, name: migration.name.to_owned(), kept }
}
