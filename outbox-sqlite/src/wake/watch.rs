//! The thread that finds out whether somebody committed.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions, SqliteConnection};
use tokio::runtime::{Builder, Runtime};

use super::Listeners;
use super::files::{FileWatcher, PausedWatcher, StartFiles};
use super::signal::{Signal, Waited};
use crate::connect::file_of;
use crate::file::DatabaseFile;

/// What the thread owns.
pub(super) struct Watch {
    pub(super) options: SqliteConnectOptions,
    pub(super) listeners: Arc<Listeners>,
    pub(super) signal: Arc<Signal>,
    pub(super) start_files: StartFiles,
}

/// Looks that follow a file event at once. The event comes when the log is written, a moment before the commit is
/// visible; a look takes some 50 µs.
const EAGER_LOOKS: u32 = 4;
/// Looks after those, each after [`SHORT_PAUSE`]: a commit that waits for a fast disk becomes visible within 2 ms.
const STEADY_LOOKS: u32 = 20;
const SHORT_PAUSE: Duration = Duration::from_micros(100);
/// Looks after those, each after twice the pause: 3 s altogether, for a disk that is slow or busy.
const PATIENT_LOOKS: u32 = 14;
/// Least time between two wake-ups, so that a stream of commits does not keep a processor busy.
const BREATH: Duration = Duration::from_millis(1);
/// How long to go on watching while nobody waits: longer than a worker takes for an event that comes alone.
const SHORT_REST: Duration = Duration::from_millis(10);
/// How often to look where file events do not work.
const POLL: Duration = Duration::from_millis(50);
/// How long to wait before trying again to open the database.
const REOPEN: Duration = Duration::from_secs(1);

impl Watch {
    /// Runs until the signal ends.
    pub(super) fn run(self) {
        // A runtime of its own, so that neither a busy nor a blocked one of the application's delays a wake-up.
        let runtime = match Builder::new_current_thread().enable_time().build() {
            Ok(runtime) => runtime,
            Err(error) => return degraded(&error),
        };
        let mut complained = false;
        loop {
            match Database::open(&runtime, &self.options) {
                Ok(database) => {
                    let watcher = (self.start_files)(&database.file, Arc::clone(&self.signal));
                    self.follow(database, watcher);
                }
                Err(error) if complained => tracing::debug!(%error, "the database cannot be watched yet"),
                Err(error) => degraded(&error),
            }
            complained = true;
            if self.signal.wait(Some(REOPEN)) == Waited::Ended {
                return;
            }
        }
    }

    /// Watches until the signal ends or the database fails.
    fn follow(&self, mut database: Database<'_>, mut watcher: notify::Result<FileWatcher>) {
        if let Err(error) = &watcher {
            degraded(error);
        }
        // What was committed before the watch began.
        self.listeners.wake();
        loop {
            match self.signal.wait(watcher.is_err().then_some(POLL)) {
                Waited::Ended => return,
                Waited::Unwanted => watcher = self.rest(watcher),
                Waited::Raised | Waited::Passed => {
                    if let Err(error) = self.look_until_quiet(&mut database) {
                        degraded(&error);
                        return;
                    }
                }
            }
        }
    }

    /// Waits until somebody waits for a commit again. If that takes a while, no file is watched meanwhile: each event
    /// would wake a thread, and the worker that writes so much needs the processor.
    fn rest(&self, watcher: notify::Result<FileWatcher>) -> notify::Result<FileWatcher> {
        if self.signal.wait_for_interest(Some(SHORT_REST)) != Waited::Passed {
            return watcher;
        }
        let worked = watcher.is_ok();
        let resting = watcher.and_then(FileWatcher::pause);
        self.signal.wait_for_interest(None);
        let watcher = resting.and_then(PausedWatcher::resume);
        if worked && let Err(error) = &watcher {
            degraded(error);
        }
        watcher
    }

    /// Looks for commits until there was none for a while after the last file event, or nobody waits for any.
    fn look_until_quiet(&self, database: &mut Database<'_>) -> Result<(), sqlx::Error> {
        database.is_in_place()?;
        let mut looks = 0;
        while looks < EAGER_LOOKS + STEADY_LOOKS + PATIENT_LOOKS {
            if !self.signal.is_awaited() {
                // There may be more to see for who waits next.
                self.signal.raise();
                return Ok(());
            }
            let pause = if database.has_changed()? {
                self.listeners.wake();
                // The next commit may have begun, its file event been merged with this one's.
                looks = EAGER_LOOKS;
                std::thread::sleep(BREATH);
                Duration::ZERO
            } else {
                looks += 1;
                pause_after(looks)
            };
            match self.signal.wait(Some(pause)) {
                Waited::Raised => looks = 0,
                Waited::Passed => {}
                Waited::Unwanted | Waited::Ended => return Ok(()),
            }
        }
        Ok(())
    }
}

fn pause_after(looks: u32) -> Duration {
    match looks.checked_sub(EAGER_LOOKS) {
        None => Duration::ZERO,
        Some(slow) => SHORT_PAUSE * 2u32.pow((slow + 1).saturating_sub(STEADY_LOOKS)),
    }
}

/// Says once what does not work. The worker's own polling remains in any case.
pub(super) fn degraded(error: &dyn std::error::Error) {
    tracing::warn!(name: "outbox.wake.degraded", %error, "the database's files cannot be watched; commits of others are found by polling");
}

/// A connection that only looks.
struct Database<'r> {
    runtime: &'r Runtime,
    connection: SqliteConnection,
    file: PathBuf,
    place: DatabaseFile,
    since: Instant,
    version: i64,
}

impl<'r> Database<'r> {
    fn open(runtime: &'r Runtime, options: &SqliteConnectOptions) -> Result<Self, sqlx::Error> {
        runtime.block_on(async {
            let (place, since) = (DatabaseFile::new(file_of(options)), Instant::now());
            let mut connection = options.connect().await?;
            let file: String =
                sqlx::query_scalar(include_str!("../sql/wake_file.sql")).fetch_one(&mut connection).await?;
            let version = version(&mut connection).await?;
            Ok(Self { runtime, connection, file: file.into(), place, since, version })
        })
    }

    /// Fails if the file was deleted or replaced, so that the one that takes its place is watched instead.
    fn is_in_place(&self) -> Result<(), sqlx::Error> {
        let checked = self.place.check(self.since);
        checked.map_err(|(_, failure)| sqlx::Error::Io(std::io::Error::other(failure)))
    }

    /// Whether another connection has committed since the last call.
    fn has_changed(&mut self) -> Result<bool, sqlx::Error> {
        let version = self.runtime.block_on(version(&mut self.connection))?;
        Ok(std::mem::replace(&mut self.version, version) != version)
    }
}

/// Grows with commits of other connections and processes, not with what is uncommitted or rolled back.
async fn version(connection: &mut SqliteConnection) -> Result<i64, sqlx::Error> {
    sqlx::query_scalar("PRAGMA data_version").fetch_one(connection).await
}
