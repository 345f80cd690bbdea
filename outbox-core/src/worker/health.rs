//! Whether a worker works, for a probe.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use tracing::{error, info};

use crate::{StoreError, StoreErrorKind};

/// How a worker is doing.
///
/// ```
/// # use outbox_core::Health;
/// fn status_code(health: &Health) -> u16 {
///     if health.is_ready() { 200 } else { 503 }
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Health {
    /// Events are fetched and handled.
    Ready,
    /// Something is in the way; each reason says what. The worker goes on trying.
    Degraded {
        /// What is in the way.
        reasons: Vec<String>,
    },
    /// The worker has not started yet, or has ended.
    Stopped,
}

impl Health {
    /// Whether everything is in order.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        *self == Health::Ready
    }
}

/// Failures of the store that have not been followed by a success, each kind logged once.
#[derive(Debug, Default)]
pub(crate) struct HealthState {
    running: std::sync::atomic::AtomicBool,
    failures: Mutex<BTreeMap<&'static str, Failure>>,
}

#[derive(Debug)]
struct Failure {
    reason: String,
    count: u64,
}

impl HealthState {
    pub(crate) fn set_running(&self, running: bool) {
        self.running.store(running, std::sync::atomic::Ordering::Release);
    }

    /// Notes a failure of `step`. The first of its kind is logged, the others are counted.
    pub(crate) fn store_failed(&self, step: &str, failure: &StoreError) {
        let reason = format!("{step}: {}", crate::error::chain(failure));
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = failures.entry(failure.kind().as_str()).or_insert_with(|| {
            error!(
                name: "outbox.store.failing",
                kind = failure.kind().as_str(), step, error = reason, remedy = remedy(failure.kind()),
                "the store fails; trying again until it works"
            );
            Failure { reason: reason.clone(), count: 0 }
        });
        entry.count += 1;
        entry.reason = reason;
    }

    /// Notes that the store works, with one line about what it is over.
    pub(crate) fn store_works(&self) {
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        for (kind, failure) in std::mem::take(&mut *failures) {
            info!(name: "outbox.store.recovered", kind, failures = failure.count, "the store works again");
        }
    }

    pub(crate) fn report(&self, heartbeat_failing: bool) -> Health {
        if !self.running.load(std::sync::atomic::Ordering::Acquire) {
            return Health::Stopped;
        }
        let failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        let mut reasons: Vec<String> = failures.values().map(|failure| failure.reason.clone()).collect();
        if heartbeat_failing {
            reasons.push("heartbeat: leases cannot be renewed, so nothing is fetched".to_owned());
        }
        if reasons.is_empty() { Health::Ready } else { Health::Degraded { reasons } }
    }
}

fn remedy(kind: StoreErrorKind) -> &'static str {
    match kind {
        StoreErrorKind::Busy => "another process holds the write lock for long: look for long transactions",
        StoreErrorKind::Full => "free disk space",
        StoreErrorKind::ReadOnly => "make the file and its directory writable for this user",
        StoreErrorKind::Unavailable => "check that the database is where the configuration says",
        StoreErrorKind::Corrupt => "run an integrity check and restore from a backup if it fails",
        StoreErrorKind::Invalid | StoreErrorKind::Other => "see the error",
    }
}
