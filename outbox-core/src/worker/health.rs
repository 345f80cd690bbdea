//! Whether a worker works, for a probe.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
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
    /// The worker has not started yet, or has ended. One whose start is held up by its store is degraded.
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
    /// Runs that are starting, and those that have started: a worker may be run more than once.
    starting: AtomicUsize,
    running: AtomicUsize,
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
        let (starting, running) = (AtomicUsize::new(0), AtomicUsize::new(0));
        Self { clock, starting, running, failing: AtomicBool::new(false), failures: Mutex::default() }
    }

    /// Notes that a run begins, until what is returned is dropped.
    pub(crate) fn starts(self: &Arc<Self>) -> Presence {
        self.starting.fetch_add(1, Ordering::AcqRel);
        Presence { health: Arc::clone(self), has_started: false }
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
        let now = self.clock.passed();
        let mut failures = self.failures();
        self.end(&mut failures, |_, failure| now.saturating_sub(failure.last) > FORGOTTEN_AFTER);
        let mut reasons: Vec<String> = failures.values().map(|failure| failure.reason.clone()).collect();
        if heartbeat_failing {
            reasons.push("heartbeat: leases cannot be renewed, so nothing is fetched".to_owned());
        }
        match (self.running.load(Ordering::Acquire), self.starting.load(Ordering::Acquire)) {
            (0, 0) => Health::Stopped,
            (0, _) if reasons.is_empty() => Health::Stopped,
            _ if reasons.is_empty() => Health::Ready,
            _ => Health::Degraded { reasons },
        }
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

/// One run of a worker, as long as it lasts.
#[derive(Debug)]
pub(crate) struct Presence {
    health: Arc<HealthState>,
    has_started: bool,
}

impl Presence {
    /// From here on events are fetched.
    pub(crate) fn has_started(&mut self) {
        self.health.running.fetch_add(1, Ordering::AcqRel);
        self.health.starting.fetch_sub(1, Ordering::AcqRel);
        self.has_started = true;
    }
}

impl Drop for Presence {
    fn drop(&mut self) {
        let count = if self.has_started { &self.health.running } else { &self.health.starting };
        count.fetch_sub(1, Ordering::AcqRel);
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
    use super::*;
    use crate::ManualClock;

    /// That of a worker that runs, and what ends when the run does.
    fn health() -> (Arc<HealthState>, ManualClock, Presence) {
        let clock = ManualClock::new();
        let health = Arc::new(HealthState::new(Arc::new(clock.clone())));
        let mut run = health.starts();
        run.has_started();
        (health, clock, run)
    }

    fn full() -> StoreError {
        StoreError::new(StoreErrorKind::Full, "no space left")
    }

    #[test]
    fn a_store_that_can_be_read_but_not_written_is_not_well() {
        let (health, _, _run) = health();
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
        let (health, clock, _run) = health();
        health.store_failed(Step::Begin, &full());
        clock.advance(FORGOTTEN_AFTER);
        assert!(!health.report(false).is_ready());
        clock.advance(Duration::from_millis(1));
        assert!(health.report(false).is_ready());
    }

    #[test]
    fn a_failing_heartbeat_is_a_reason_and_a_worker_that_does_not_run_is_stopped() {
        let (health, _, run) = health();
        assert!(
            matches!(health.report(true), Health::Degraded { reasons } if reasons[0].contains("heartbeat"))
        );
        drop(run);
        assert_eq!(health.report(true), Health::Stopped);
    }

    #[test]
    fn a_worker_that_is_run_twice_is_ready_until_both_runs_have_ended() {
        let (health, _, first) = health();
        let mut second = health.starts();
        assert!(health.report(false).is_ready(), "the first fetches");
        second.has_started();
        drop(first);
        assert!(health.report(false).is_ready(), "the second fetches");
        drop(second);
        assert_eq!(health.report(false), Health::Stopped);
    }

    #[test]
    fn a_start_is_degraded_only_while_it_is_held_up() {
        let (health, _, run) = health();
        drop(run);
        let start = health.starts();
        assert_eq!(health.report(false), Health::Stopped);
        health.store_failed(Step::Subscribe, &full());
        let reasons = vec!["subscribe: no space left".to_owned()];
        assert_eq!(health.report(false), Health::Degraded { reasons });
        drop(start);
        assert_eq!(health.report(false), Health::Stopped, "it has given up");
    }
}
