//! Waking workers when something was committed, by whoever it was.
//!
//! Our own commits notify directly. Those of the application, in this process or another, are seen by the file system's
//! events on the database's directory. The application's commit hook is left to the application: SQLite has only one
//! per connection.

mod files;
mod signal;
mod watch;

use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError, Weak};
use std::thread;

use sqlx::ConnectOptions;
use sqlx::sqlite::SqliteConnectOptions;
use tokio::sync::Notify;

use files::{FileWatcher, StartFiles};
use signal::Signal;
use watch::Watch;

/// Who wants to know about commits to one database. Clones share their listeners.
///
/// A thread watches the database from the first [`listen`](Self::listen) on, and ends when the last clone is dropped.
#[derive(Debug, Clone)]
pub(crate) struct WakeHub {
    hub: Arc<Hub>,
}

#[derive(Debug)]
struct Hub {
    /// Those of the database's pool: the thread opens a connection of its own.
    options: SqliteConnectOptions,
    listeners: Arc<Listeners>,
    signal: Arc<Signal>,
    start_files: StartFiles,
    started: Once,
}

impl WakeHub {
    /// A hub for the database that `options` lead to. Nothing is started yet.
    pub(crate) fn new(options: &SqliteConnectOptions) -> Self {
        Self::with_files(options.clone().disable_statement_logging(), FileWatcher::start)
    }

    fn with_files(options: SqliteConnectOptions, start_files: StartFiles) -> Self {
        let (listeners, signal, started) = (Arc::default(), Arc::default(), Once::new());
        Self { hub: Arc::new(Hub { options, listeners, signal, start_files, started }) }
    }

    /// A listener for one bus, which hears of every commit from now on.
    pub(crate) fn listen(&self) -> WakeListener {
        let notify = self.hub.listeners.add();
        self.hub.started.call_once(|| self.hub.start());
        WakeListener { notify, signal: Arc::clone(&self.hub.signal) }
    }

    /// Wakes every listener, after a commit of our own.
    pub(crate) fn notify(&self) {
        self.hub.listeners.wake();
    }
}

/// One bus's ear. It keeps one signal, so that a commit between two waits is not lost, and many of them wake once.
#[derive(Debug)]
pub(crate) struct WakeListener {
    notify: Arc<Notify>,
    signal: Arc<Signal>,
}

impl WakeListener {
    /// Returns after the next signal. For one waiter at a time.
    pub(crate) async fn woken(&self) {
        let _waiting = self.signal.begin_waiting();
        self.notify.notified().await;
    }

    /// Signals this listener alone.
    pub(crate) fn notify(&self) {
        self.notify.notify_one();
    }
}

impl Hub {
    fn start(&self) {
        let watch = Watch {
            // The database is there already; a wrong path must not create another one.
            options: self.options.clone().create_if_missing(false),
            listeners: Arc::clone(&self.listeners),
            signal: Arc::clone(&self.signal),
            start_files: self.start_files,
        };
        if let Err(error) = thread::Builder::new().name("outbox-wake".to_owned()).spawn(move || watch.run()) {
            watch::degraded(&error);
        }
    }
}

impl Drop for Hub {
    fn drop(&mut self) {
        self.signal.end();
    }
}

/// The listeners, which their owners may drop at any time.
#[derive(Debug, Default)]
struct Listeners {
    all: Mutex<Vec<Weak<Notify>>>,
}

impl Listeners {
    fn add(&self) -> Arc<Notify> {
        let listener = Arc::new(Notify::new());
        let mut all = lock(&self.all);
        all.retain(|other| other.strong_count() > 0);
        all.push(Arc::downgrade(&listener));
        listener
    }

    fn wake(&self) {
        for listener in lock(&self.all).iter().filter_map(Weak::upgrade) {
            listener.notify_one();
        }
    }
}

/// Nothing that is locked here can be left half changed by a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
