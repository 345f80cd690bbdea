//! Waking workers when something may be there.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use sqlx::sqlite::SqliteConnectOptions;
use tokio::sync::Notify;

/// Where commits are made known. Clones share the listeners.
#[derive(Clone)]
pub(crate) struct WakeHub {
    listeners: Arc<Mutex<Vec<Weak<Notify>>>>,
}

/// One bus's ear. A signal that comes between two waits is kept.
pub(crate) struct WakeListener {
    notify: Arc<Notify>,
}

impl WakeHub {
    pub(crate) fn new(_: &SqliteConnectOptions) -> Self {
        Self { listeners: Arc::default() }
    }

    pub(crate) fn listen(&self) -> WakeListener {
        let notify = Arc::new(Notify::new());
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner).push(Arc::downgrade(&notify));
        WakeListener { notify }
    }

    pub(crate) fn notify(&self) {
        let mut listeners = self.listeners.lock().unwrap_or_else(PoisonError::into_inner);
        listeners.retain(|listener| listener.upgrade().map(|notify| notify.notify_one()).is_some());
    }
}

impl WakeListener {
    pub(crate) async fn woken(&self) {
        self.notify.notified().await;
    }

    pub(crate) fn notify(&self) {
        self.notify.notify_one();
    }
}
