//! How file events reach the watching thread.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Raised by file events, taken by the watching thread; many events between two takes are one.
///
/// It is only taken while somebody waits for a commit: a worker that drains a backlog writes all the time, and looking
/// at each of its own commits would take a part of the processor from it.
#[derive(Debug, Default)]
pub(super) struct Signal {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    raised: bool,
    ended: bool,
    /// How many wait for a commit.
    waiting: usize,
}

/// Somebody waits for a commit, until this is dropped.
#[derive(Debug)]
pub(super) struct Waiting<'s> {
    signal: &'s Signal,
}

/// What ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waited {
    /// A file event, which is taken with this answer.
    Raised,
    /// A file event while nobody waits for a commit. It is kept for who waits next.
    Unwanted,
    /// Time.
    Passed,
    /// There is nobody to watch for any more.
    Ended,
}

impl Signal {
    /// Says that there was a file event.
    pub(super) fn raise(&self) {
        let mut state = super::lock(&self.state);
        if !state.raised {
            state.raised = true;
            self.changed.notify_one();
        }
    }

    /// Says that somebody waits for a commit.
    pub(super) fn begin_waiting(&self) -> Waiting<'_> {
        let mut state = super::lock(&self.state);
        state.waiting += 1;
        self.changed.notify_one();
        Waiting { signal: self }
    }

    /// Whether somebody waits for a commit.
    pub(super) fn is_awaited(&self) -> bool {
        super::lock(&self.state).waiting > 0
    }

    /// Ends every wait from now on.
    pub(super) fn end(&self) {
        super::lock(&self.state).ended = true;
        self.changed.notify_all();
    }

    /// Waits for the next file event, at most `limit` if there is one.
    pub(super) fn wait(&self, limit: Option<Duration>) -> Waited {
        self.wait_until(limit, |state| match state.waiting {
            _ if !state.raised => None,
            0 => Some(Waited::Unwanted),
            _ => {
                state.raised = false;
                Some(Waited::Raised)
            }
        })
    }

    /// Waits until somebody waits for a commit and there was a file event, at most `limit` if there is one. The event is
    /// not taken.
    pub(super) fn wait_for_interest(&self, limit: Option<Duration>) -> Waited {
        self.wait_until(limit, |state| (state.raised && state.waiting > 0).then_some(Waited::Raised))
    }

    fn wait_until(
        &self,
        limit: Option<Duration>,
        mut look: impl FnMut(&mut State) -> Option<Waited>,
    ) -> Waited {
        let deadline = limit.map(|limit| Instant::now() + limit);
        let mut state = super::lock(&self.state);
        loop {
            if state.ended {
                return Waited::Ended;
            }
            if let Some(waited) = look(&mut state) {
                return waited;
            }
            state = match deadline.map(|deadline| deadline.saturating_duration_since(Instant::now())) {
                Some(Duration::ZERO) => return Waited::Passed,
                Some(left) => {
                    self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        super::lock(&self.signal.state).waiting -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_between_two_waits_are_one_and_are_not_lost() {
        let signal = Signal::default();
        let _waiting = signal.begin_waiting();
        signal.raise();
        signal.raise();
        assert_eq!(signal.wait(None), Waited::Raised);
        assert_eq!(signal.wait(Some(Duration::ZERO)), Waited::Passed);
    }

    #[test]
    fn an_event_while_nobody_waits_is_kept_for_who_waits_next() {
        let signal = Signal::default();
        drop(signal.begin_waiting());
        signal.raise();
        assert!(!signal.is_awaited());
        assert_eq!(signal.wait(None), Waited::Unwanted);
        assert_eq!(signal.wait_for_interest(Some(Duration::ZERO)), Waited::Passed);
        let _waiting = signal.begin_waiting();
        assert!(signal.is_awaited());
        assert_eq!(signal.wait(None), Waited::Raised);
    }

    #[test]
    fn who_begins_to_wait_after_an_event_ends_the_threads_rest() {
        let signal = Signal::default();
        signal.raise();
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| signal.wait_for_interest(Some(Duration::from_secs(10))));
            let _waiting = signal.begin_waiting();
            assert_eq!(thread.join().unwrap(), Waited::Raised);
            assert_eq!(signal.wait(None), Waited::Raised, "it was not taken");
        });
    }

    #[test]
    fn the_end_is_final() {
        let signal = Signal::default();
        signal.raise();
        signal.end();
        assert_eq!(signal.wait(None), Waited::Ended);
        assert_eq!(signal.wait(Some(Duration::from_secs(60))), Waited::Ended);
    }
}
