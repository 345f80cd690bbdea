//! Opening a database file, with an error that names the file and the remedy when that is not possible.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use outbox_core::{StoreError, StoreErrorKind};
use sqlx::sqlite::{SqliteConnectOptions, SqlitePool, SqlitePoolOptions};
use sqlx::{ConnectOptions, Connection, SqliteConnection};

use crate::error::{is_busy, store_error};
use crate::file::{DatabaseFile, Place};
use crate::options::SqliteOptions;
use crate::retry::BusyRetry;

/// Opens a pool on the database of `url`, a file that is created if it does not exist.
///
/// The file is put into WAL mode. Every connection has the busy timeout and the synchronous mode of `options`, foreign
/// keys on, and gives a `-wal` file that a burst has blown up back to the disk.
///
/// # Errors
///
/// [`StoreError`], naming the file and the remedy: settings out of bounds, an url that is not SQLite's, a database in
/// memory, a missing directory, a file that is no database or cannot be written to.
pub(crate) async fn open_pool(url: &str, options: &SqliteOptions) -> Result<SqlitePool, StoreError> {
    options.validate().map_err(|error| invalid(error.to_string()))?;
    let connect = parse(url)?
        .busy_timeout(options.busy_timeout)
        .synchronous(options.synchronous.pragma())
        .foreign_keys(true)
        .pragma("journal_size_limit", JOURNAL_SIZE_LIMIT.to_string());
    let file = file_of(&connect);
    check_place(&file, url)?;
    prepare_file(&connect, &file).await?;
    let opened = Arc::new(DatabaseFile::new(file.clone()));
    let pool = SqlitePoolOptions::new().max_connections(options.pool_size).before_acquire(move |_, idle| {
        // Of no use any more if the file was deleted or replaced since it was opened.
        let since = Instant::now().checked_sub(idle.age);
        let stays = since.is_none_or(|since| opened.place(since) == Place::Same);
        Box::pin(async move { Ok(stays) })
    });
    // A database that is lost later on is not to be taken for a new one.
    let connect = connect.create_if_missing(false);
    pool.connect_with(connect).await.map_err(|error| store_error(&format!("open {}", file.display()), error))
}

/// Bytes to which a `-wal` file is cut back once a checkpoint has emptied it: what it grows to between two automatic
/// checkpoints anyhow.
pub(crate) const JOURNAL_SIZE_LIMIT: u64 = 4 * 1024 * 1024;

/// Refuses a database in memory, however it is spelled.
///
/// # Errors
///
/// [`StoreErrorKind::Invalid`], with the reason and what to use instead.
pub(crate) fn refuse_memory(options: &SqliteConnectOptions) -> Result<(), StoreError> {
    let file = options.get_filename().to_string_lossy();
    let named = file.is_empty()
        || file.contains(":memory:")
        || file.starts_with("file:sqlx-in-memory-")
        || file.starts_with("file:") && (file.contains("mode=memory") || file.contains("vfs=memdb"));
    // The driver keeps `mode=memory` to itself; what it prints for debugging is the only place where it shows.
    if named || format!("{options:?}").contains("in_memory: true") {
        return Err(invalid(
            "an in-memory database is refused: it vanishes with its last connection, which a pool closes when idle, \
             and the store needs connections of its own, which would each see another database; use a file (in a \
             temporary directory for tests), or `MemoryOutbox`, which needs no database"
                .to_owned(),
        ));
    }
    Ok(())
}

/// The driver's options for `url`, which must name a file that may be written to.
fn parse(url: &str) -> Result<SqliteConnectOptions, StoreError> {
    let Some(rest) = url.strip_prefix("sqlite:") else {
        // Only the scheme is repeated: what follows may hold a password.
        let given = match url.split_once(':') {
            Some((scheme, _)) => format!("a url that begins with `{scheme}:`"),
            None => format!("{url:?}"),
        };
        return Err(invalid(format!("{given} is not a SQLite database: write `sqlite://path/to/file.db`")));
    };
    let parameters: Vec<&str> = rest.split_once('?').map_or(Vec::new(), |(_, all)| all.split('&').collect());
    let options: SqliteConnectOptions =
        url.parse().map_err(|error| store_error(&format!("understand the url {url:?}"), error))?;
    refuse_memory(&options)?;
    for (parameter, reason) in [
        ("mode=ro", "the outbox writes to its database"),
        ("immutable=1", "the outbox writes to its database"),
        ("immutable=true", "the outbox writes to its database"),
        ("cache=shared", "connections that share a cache do not wait for each other's locks"),
    ] {
        if parameters.contains(&parameter) {
            return Err(invalid(format!(
                "`{parameter}` in the url {url:?} is refused: {reason}; leave it out"
            )));
        }
    }
    Ok(options.create_if_missing(!parameters.contains(&"mode=rw")))
}

/// The file that the options name, without the `file:` of a SQLite URI.
pub(crate) fn file_of(options: &SqliteConnectOptions) -> PathBuf {
    let name = options.get_filename();
    match name.to_str().and_then(|name| name.strip_prefix("file:")) {
        Some(path) => PathBuf::from(path),
        None => name.to_owned(),
    }
}

/// Tells apart what SQLite reports as one "unable to open database file".
///
/// Looks at metadata only. The file itself is never opened here: closing it would drop the locks that other
/// connections of this process hold on it, as POSIX locks belong to the process.
fn check_place(file: &Path, url: &str) -> Result<(), StoreError> {
    let shown = file.display();
    if let Ok(metadata) = std::fs::metadata(file) {
        if metadata.is_dir() {
            return Err(unavailable(format!(
                "{shown} is a directory: name a file in it, as in `{url}/app.db`"
            )));
        }
        if metadata.permissions().readonly() {
            return Err(StoreError::new(
                StoreErrorKind::ReadOnly,
                format!("{shown} is read-only: allow writing to it (`chmod u+w`) and to its directory"),
            ));
        }
        return Ok(());
    }
    match file.parent() {
        Some(directory) if !directory.as_os_str().is_empty() && !directory.is_dir() => {
            Err(unavailable(format!(
                "{shown} cannot be created: there is no directory {}; create it first",
                directory.display()
            )))
        }
        _ => Ok(()),
    }
}

/// Creates the file if need be, checks that it is a database, and puts it into WAL mode.
async fn prepare_file(connect: &SqliteConnectOptions, file: &Path) -> Result<(), StoreError> {
    let what = format!("open {}", file.display());
    let mut connection = connect.connect().await.map_err(|error| store_error(&what, error))?;
    let mode = switch_to_wal(&mut connection).await.map_err(|error| store_error(&what, error))?;
    connection.close().await.map_err(|error| store_error(&what, error))?;
    if mode == "wal" {
        return Ok(());
    }
    Err(unavailable(format!(
        "{} stays in journal mode `{mode}`: its file system does not support a write-ahead log; use a local disk",
        file.display()
    )))
}

/// Returns the journal mode after the attempt.
///
/// Switching needs the file for itself for a moment, and SQLite does not wait for that: of several processes that start
/// on a new file, some are told that it is busy.
async fn switch_to_wal(connection: &mut SqliteConnection) -> Result<String, sqlx::Error> {
    let mut retry = BusyRetry::new();
    loop {
        match sqlx::query_scalar("PRAGMA journal_mode = WAL").fetch_one(&mut *connection).await {
            Err(error) if is_busy(&error) && retry.again().await => {}
            result => return result,
        }
    }
}

fn invalid(message: String) -> StoreError {
    StoreError::new(StoreErrorKind::Invalid, message)
}

fn unavailable(message: String) -> StoreError {
    StoreError::new(StoreErrorKind::Unavailable, message)
}
