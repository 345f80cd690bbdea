//! Whether a worker works, for a probe.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tracing::{error, info};

use crate::{SharedClock, StoreError, StoreErrorKind};

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

/// What the worker was doing when its store failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Step {
    Subscribe,
    Receive,
    Claim,
    Begin,
    Commit,
    Ledger,
    Settle,
    Upkeep,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Subscribe => "subscribe",
            Self::Receive => "receive",
            Self::Claim => "claim",
            Self::Begin => "begin",
            Self::Commit => "commit",
            Self::Ledger => "ledger",
            Self::Settle => "settle",
            Self::Upkeep => "upkeep",
        })
    }
}

/// Failures of the store that are not over, each kind logged once.
///
/// A failure is over when the step that failed works again: a store that can still be read, but not written to, is not
/// well because reading works. A step that is not tried again for [`FORGOTTEN_AFTER`] says nothing any more.
#[derive(Debug)]
pub(crate) struct HealthState {
    clock: SharedClock,
    running: AtomicBool,
    /// Whether there are failures at all; spares the lock on the way of every event.
    failing: AtomicBool,
    failures: Mutex<BTreeMap<(Step, &'static str), Failure>>,
}

#[derive(Debug)]
struct Failure {
    reason: String,
    count: u64,
    last: Duration,
}

const FORGOTTEN_AFTER: Duration = Duration::from_secs(120);

impl HealthState {
    pub(crate) fn new(clock: SharedClock) -> Self {
        let (running, failing) = (AtomicBool::new(false), AtomicBool::new(false));
        Self { clock, running, failing, failures: Mutex::default() }
    }

    pub(crate) fn set_running(&self, running: bool) {
        self.running.store(running, Ordering::Release);
    }

    /// Notes a failure. The first of its kind is logged, the others are counted.
    pub(crate) fn store_failed(&self, step: Step, failure: &StoreError) {
        let reason = format!("{step}: {}", crate::error::chain(failure));
        let kind = failure.kind().as_str();
        let mut failures = self.failures();
        if failures.keys().all(|(_, known)| *known != kind) {
            error!(
                name: "outbox.store.failing",
                kind, step = %step, error = reason, remedy = remedy(failure.kind()),
                "the store fails; trying again until it works"
            );
        }
        let first = Failure { reason: String::new(), count: 0, last: Duration::ZERO };
        let entry = failures.entry((step, kind)).or_insert(first);
        *entry = Failure { reason, count: entry.count + 1, last: self.clock.passed() };
        self.failing.store(true, Ordering::Release);
    }

    /// Notes that a step works, with one line about what is over.
    pub(crate) fn store_works(&self, step: Step) {
        if self.failing.load(Ordering::Acquire) {
            self.end(&mut self.failures(), |failed, _| failed == step);
        }
    }

    pub(crate) fn report(&self, heartbeat_failing: bool) -> Health {
        if !self.running.load(Ordering::Acquire) {
            return Health::Stopped;
        }
        let now = self.clock.passed();
        let mut failures = self.failures();
        self.end(&mut failures, |_, failure| now.saturating_sub(failure.last) > FORGOTTEN_AFTER);
        let mut reasons: Vec<String> = failures.values().map(|failure| failure.reason.clone()).collect();
        if heartbeat_failing {
            reasons.push("heartbeat: leases cannot be renewed, so nothing is fetched".to_owned());
        }
        if reasons.is_empty() { Health::Ready } else { Health::Degraded { reasons } }
    }

    /// Ends failures, and tells of each kind that is gone with the last of them.
    fn end(
        &self,
        failures: &mut BTreeMap<(Step, &'static str), Failure>,
        is_over: impl Fn(Step, &Failure) -> bool,
    ) {
        let mut ended = BTreeMap::<_, u64>::new();
        failures.retain(|(step, kind), failure| {
            let ends = is_over(*step, failure);
            if ends {
                *ended.entry(*kind).or_default() += failure.count;
            }
            !ends
        });
        for (kind, count) in ended {
            if failures.keys().all(|(_, left)| *left != kind) {
                info!(name: "outbox.store.recovered", kind, failures = count, "the store works again");
            }
        }
        self.failing.store(!failures.is_empty(), Ordering::Release);
    }

    fn failures(&self) -> MutexGuard<'_, BTreeMap<(Step, &'static str), Failure>> {
        self.failures.lock().unwrap_or_else(PoisonError::into_inner)
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::ManualClock;

    fn health() -> (HealthState, ManualClock) {
        let clock = ManualClock::new();
        let health = HealthState::new(Arc::new(clock.clone()));
        health.set_running(true);
        (health, clock)
    }

    fn full() -> StoreError {
        StoreError::new(StoreErrorKind::Full, "no space left")
    }

    #[test]
    fn a_store_that_can_be_read_but_not_written_is_not_well() {
        let (health, _) = health();
        health.store_failed(Step::Settle, &full());
        health.store_works(Step::Receive);
        assert_eq!(
            health.report(false),
            Health::Degraded { reasons: vec!["settle: no space left".to_owned()] }
        );
        health.store_works(Step::Settle);
        assert!(health.report(false).is_ready());
    }

    #[test]
    fn a_step_that_is_never_tried_again_is_forgotten() {
        let (health, clock) = health();
        health.store_failed(Step::Begin, &full());
        clock.advance(FORGOTTEN_AFTER);
        assert!(!health.report(false).is_ready());
        clock.advance(Duration::from_millis(1));
        assert!(health.report(false).is_ready());
    }

    #[test]
    fn a_failing_heartbeat_is_a_reason_and_a_worker_that_does_not_run_is_stopped() {
        let (health, _) = health();
        assert!(
            matches!(health.report(true), Health::Degraded { reasons } if reasons[0].contains("heartbeat"))
        );
        health.set_running(false);
        assert_eq!(health.report(true), Health::Stopped);
    }
}
