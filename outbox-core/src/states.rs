//! The states of events and claims, and the words that the tables hold for them.

use std::fmt;

/// State of an event's queue row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EventState {
    /// Waits for a worker.
    Pending,
    /// In a worker's hands.
    Processing,
    /// Every handler has finished.
    Done,
    /// Every handler has finished or given up, and at least one gave up.
    DeadLettered,
}

impl EventState {
    /// The word that the tables hold.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Processing => "processing",
            Self::Done => "done",
            Self::DeadLettered => "dead_lettered",
        }
    }

    /// The state of that word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::Pending, Self::Processing, Self::Done, Self::DeadLettered]
            .into_iter()
            .find(|state| state.as_str() == word)
    }
}

impl fmt::Display for EventState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// State of a handler's work on an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ClaimState {
    /// A worker runs it, or did when its lease began.
    InProgress,
    /// It is due again at some time.
    Released,
    /// It has finished.
    Done,
    /// It has given up.
    Dead,
}

impl ClaimState {
    /// The word that the tables hold.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InProgress => "in_progress",
            Self::Released => "released",
            Self::Done => "done",
            Self::Dead => "dead",
        }
    }

    /// The state of that word.
    #[must_use]
    pub fn from_word(word: &str) -> Option<Self> {
        [Self::InProgress, Self::Released, Self::Done, Self::Dead]
            .into_iter()
            .find(|state| state.as_str() == word)
    }
}

impl fmt::Display for ClaimState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
