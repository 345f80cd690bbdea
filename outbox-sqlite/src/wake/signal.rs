//! How file events reach the watching thread.

use std::sync::{Condvar, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Raised by file events, taken by the watching thread; many events between two takes are one.
#[derive(Debug, Default)]
pub(super) struct Signal {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct State {
    raised: bool,
    ended: bool,
}

/// What ended a wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Waited {
    /// A file event, which is taken with this answer.
    Raised,
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

    /// Ends every wait from now on.
    pub(super) fn end(&self) {
        super::lock(&self.state).ended = true;
        self.changed.notify_all();
    }

    /// Waits for the next file event, at most `limit` if there is one.
    pub(super) fn wait(&self, limit: Option<Duration>) -> Waited {
        let deadline = limit.map(|limit| Instant::now() + limit);
        let mut state = super::lock(&self.state);
        loop {
            if state.ended {
                return Waited::Ended;
            }
            if std::mem::take(&mut state.raised) {
                return Waited::Raised;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_between_two_waits_are_one_and_are_not_lost() {
        let signal = Signal::default();
        signal.raise();
        signal.raise();
        assert_eq!(signal.wait(None), Waited::Raised);
        assert_eq!(signal.wait(Some(Duration::ZERO)), Waited::Passed);
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
