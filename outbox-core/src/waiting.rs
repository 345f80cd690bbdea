//! What unfinished events wait for.

use std::fmt;
use std::time::Duration;

/// Events that wait for something other than a free worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// What they wait for.
    pub reason: WaitReason,
    /// How many events.
    pub events: u64,
}

/// How long an event with which no handler has begun is due before it counts as waiting for its handlers: 1 minute.
/// Until then it waits for a free worker.
pub const OVERDUE: Duration = Duration::from_secs(60);

/// What events wait for.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum WaitReason {
    /// A handler that has not begun with them: one that the workers seen so far do not have together with the others of
    /// its type or, once they have been due for [`OVERDUE`], any that is listed for it and that no worker had time for,
    /// or has any more.
    Handler(String),
    /// A worker that knows this version of their type.
    Version {
        /// Type of the events.
        event_type: String,
        /// Version of their payload.
        version: u32,
    },
    /// Any handler at all for this type.
    AnyHandler {
        /// Type of the events.
        event_type: String,
    },
    /// Earlier events of their key.
    Key,
    /// Their own due time. Only [`Status`](crate::Status) counts it; an explanation tells the time itself.
    DueTime,
    /// Somebody to put right their state, which is a word that no version of this library writes. Nothing happens to
    /// them, and later events of their key wait for them, until it is set to `pending` (they are handled) or `done`.
    UnknownState(String),
}

impl fmt::Display for WaitReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_of(f, "their")
    }
}

impl WaitReason {
    /// Tells it of one event ("its") or of several ("their").
    pub(crate) fn fmt_of(&self, f: &mut fmt::Formatter<'_>, whose: &str) -> fmt::Result {
        match self {
            Self::Handler(handler) => write!(f, "handler {handler}"),
            Self::Version { event_type, version } => {
                write!(f, "a worker that knows {event_type} version {version}")
            }
            Self::AnyHandler { event_type } => write!(f, "any handler of {event_type}"),
            Self::Key => write!(f, "earlier events of {whose} key"),
            Self::DueTime => write!(f, "{whose} due time"),
            Self::UnknownState(state) => {
                write!(f, "somebody to put right {whose} unknown state {state:?}, to `pending` or `done`")
            }
        }
    }
}
