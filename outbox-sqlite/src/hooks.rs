//! What the write connection's hooks look at and note.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sqlx::sqlite::SqliteConnection;

/// Switches that SQLite's hooks on one connection look at, and what they note.
///
/// Whoever writes on the connection may send it any SQL. While it is lent, its transaction is the framework's to end: a
/// COMMIT is turned into a ROLLBACK, also one that SQLite does by itself after each statement when no transaction is open
/// any more.
#[derive(Debug, Default)]
pub(crate) struct Hooks {
    stopped: AtomicBool,
    lent: AtomicBool,
    ended: AtomicBool,
}

/// Steps of SQLite's machine between two looks whether to interrupt a statement: well below a millisecond.
const STEPS: i32 = 10_000;

impl Hooks {
    /// Installs them. The connection is the framework's own, so no hook of the application is replaced.
    pub(crate) async fn install(connection: &mut SqliteConnection) -> Result<Arc<Self>, sqlx::Error> {
        let hooks = Arc::new(Self::default());
        let mut handle = connection.lock_handle().await?;
        let (progress, commit, rollback) = (Arc::clone(&hooks), Arc::clone(&hooks), Arc::clone(&hooks));
        handle.set_progress_handler(STEPS, move || !progress.stopped.load(Ordering::Relaxed));
        handle.set_commit_hook(move || !commit.note_end());
        handle.set_rollback_hook(move || _ = rollback.note_end());
        drop(handle);
        Ok(hooks)
    }

    /// Ends statements that run, or begin, until [`resume`](Self::resume).
    pub(crate) fn stop(&self) {
        self.stopped.store(true, Ordering::Relaxed);
    }

    pub(crate) fn resume(&self) {
        self.stopped.store(false, Ordering::Relaxed);
    }

    /// Whether statements are ended.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// A transaction has begun in which somebody else writes.
    pub(crate) fn lend(&self) {
        self.ended.store(false, Ordering::Release);
        self.lent.store(true, Ordering::Release);
    }

    /// Whether the transaction was ended since it was lent.
    pub(crate) fn has_ended(&self) -> bool {
        self.ended.load(Ordering::Acquire)
    }

    /// The framework writes again.
    pub(crate) fn take_back(&self) {
        self.lent.store(false, Ordering::Release);
        self.ended.store(false, Ordering::Release);
    }

    /// Notes the end of a transaction; whether it was lent.
    fn note_end(&self) -> bool {
        let lent = self.lent.load(Ordering::Acquire);
        if lent {
            self.ended.store(true, Ordering::Release);
        }
        lent
    }
}
