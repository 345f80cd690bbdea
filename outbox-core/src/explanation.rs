//! All that a store knows about one event, told as one timeline.

use std::fmt;

use crate::{ClaimState, EventId, EventState, Headers, Timestamp, WaitReason};

/// All that a store knows about an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// Identity of the event.
    pub event_id: EventId,
    /// Its type; empty if only the ledger still knows it.
    pub event_type: String,
    /// Version of its payload; 0 if only the ledger still knows it.
    pub version: u32,
    /// Key within which its order is kept.
    pub key: Option<String>,
    /// State of its queue row; `None` if only the ledger still knows it, or if the state is unknown.
    pub state: Option<EventState>,
    /// The payload, as written; empty if only the ledger still knows the event.
    pub payload: String,
    /// Headers, names in lower case.
    pub headers: Headers,
    /// What it waits for beside a free worker.
    pub waits_for: Option<WaitReason>,
    /// While it waits for earlier events of its key: the one that is in the way. Where that may be one of several dead
    /// letters, the nearest.
    pub behind: Option<EventId>,
    /// When it may be handled next; of an event in a worker's hands, until when that is.
    pub available_at: Timestamp,
    /// Its handlers: those with a ledger row, and those that are listed for its type and have not begun.
    pub handlers: Vec<HandlerProgress>,
    /// What happened when, in order.
    pub timeline: Vec<TimelineEntry>,
}

/// How far a handler is with an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandlerProgress {
    /// Name of the handler.
    pub handler: String,
    /// `None`: it has not begun.
    pub state: Option<ClaimState>,
    /// Attempts begun so far, since the last redrive.
    pub attempts: u32,
    /// Id of the worker process that holds or held the claim.
    pub owner: Option<String>,
    /// When the last attempt began.
    pub started_at: Option<Timestamp>,
    /// End of the lease, or when it is due again.
    pub lease_until: Option<Timestamp>,
    /// When it finished or gave up.
    pub processed_at: Option<Timestamp>,
    /// Its last failure with its causes, also after a later attempt succeeded; after a discard, `discarded: ` and the
    /// failure.
    pub last_error: Option<String>,
}

/// One line of a timeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimelineEntry {
    /// When it happened, or will: a lease's end and a due time lie ahead.
    pub at: Timestamp,
    /// The handler it is about; `None`: the event itself.
    pub handler: Option<String>,
    /// What happened, in words for people: not to be parsed.
    pub what: String,
}

impl Explanation {
    /// What is left of an event that the queue has forgotten: the ledger knows neither its type nor its payload. `None`
    /// if the ledger does not know it either. For backends.
    #[must_use]
    pub fn by_ledger(event_id: EventId, handlers: Vec<HandlerProgress>) -> Option<Self> {
        let last = handlers.iter().filter_map(|handler| handler.processed_at.or(handler.started_at)).max()?;
        Some(Self {
            event_id,
            event_type: String::new(),
            version: 0,
            key: None,
            state: None,
            payload: String::new(),
            headers: Headers::new(),
            waits_for: None,
            behind: None,
            available_at: last,
            timeline: timeline(None, &handlers, None),
            handlers,
        })
    }
}

impl HandlerProgress {
    /// A handler that is listed for the event's type and has not begun. For backends.
    #[must_use]
    pub fn not_begun(handler: impl Into<String>) -> Self {
        Self {
            handler: handler.into(),
            state: None,
            attempts: 0,
            owner: None,
            started_at: None,
            lease_until: None,
            processed_at: None,
            last_error: None,
        }
    }

    /// Why it had given up, or the last failure (empty if there was none), if an operator
    /// [discarded](crate::Admin::discard) what was left to do: it counts as done, and did not succeed.
    #[must_use]
    pub fn discarded(&self) -> Option<&str> {
        let error = self.last_error.as_deref().filter(|_| self.state == Some(ClaimState::Done))?;
        error.strip_prefix("discarded: ")
    }

    /// When its last attempt began, and how that ended so far.
    fn entries(&self) -> impl Iterator<Item = TimelineEntry> {
        let begun = self.started_at.map(|at| (at, self.begun()));
        let error = self.last_error.as_deref().unwrap_or("no error");
        let ended = match (self.state, self.processed_at, self.lease_until) {
            (Some(ClaimState::Done), Some(at), _) => Some((at, self.done())),
            (Some(ClaimState::Dead), Some(at), _) => Some((at, format!("gave up: {error}"))),
            (Some(ClaimState::Released), _, Some(at)) if self.attempts == 0 => {
                Some((at, format!("begins anew, with all of its attempts, after: {error}")))
            }
            (Some(ClaimState::Released), _, Some(at)) => Some((at, format!("due again after: {error}"))),
            (Some(ClaimState::InProgress), _, Some(at)) => Some((at, "lease ends".to_owned())),
            _ => None,
        };
        let handler = Some(self.handler.clone());
        let told = begun.into_iter().chain(ended);
        told.map(move |(at, what)| TimelineEntry { at, handler: handler.clone(), what })
    }

    /// An attempt counts no more once it was redriven, or given back before it ran.
    fn begun(&self) -> String {
        match self.attempts {
            0 => "an earlier attempt started".to_owned(),
            attempt => format!("attempt {attempt} started"),
        }
    }

    fn done(&self) -> String {
        match self.discarded() {
            None => "done".to_owned(),
            Some("") => "discarded".to_owned(),
            Some(reason) => format!("discarded: {reason}"),
        }
    }
}

/// How an event's row in the queue ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventEnd<'a> {
    /// When it was settled.
    pub at: Timestamp,
    /// Done or dead-lettered.
    pub state: EventState,
    /// Why it is a dead letter; `None` if it is not one.
    pub reason: Option<&'a str>,
}

/// The timeline of an event that was enqueued at that time, of its handlers and of its end, oldest first. For backends.
#[must_use]
pub fn timeline(
    enqueued_at: Option<Timestamp>,
    handlers: &[HandlerProgress],
    end: Option<EventEnd<'_>>,
) -> Vec<TimelineEntry> {
    let of_event = |at, what| TimelineEntry { at, handler: None, what };
    let enqueued = enqueued_at.map(|at| of_event(at, "enqueued".to_owned()));
    let ended = end.map(|EventEnd { at, state, reason }| {
        of_event(at, reason.map_or_else(|| state.to_string(), |reason| format!("{state}: {reason}")))
    });
    let of_handlers = handlers.iter().flat_map(HandlerProgress::entries);
    let mut entries: Vec<_> = enqueued.into_iter().chain(of_handlers).chain(ended).collect();
    // Stable, so that what happened in one millisecond stays in the order of the steps above.
    entries.sort_by_key(|entry| entry.at);
    entries
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.fmt_header(f)?;
        for entry in &self.timeline {
            let handler = entry.handler.as_deref().unwrap_or("(event)");
            write!(f, "\n{}  {handler:<24} {}", entry.at, entry.what)?;
        }
        Ok(())
    }
}

impl Explanation {
    fn fmt_header(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.event_id)?;
        let unknown = match &self.waits_for {
            Some(WaitReason::UnknownState(state)) => Some(state),
            _ => None,
        };
        if self.state.is_none() && unknown.is_none() {
            return f.write_str(": no longer in the queue; what the ledger knows of it:");
        }
        write!(f, " {} v{}", self.event_type, self.version)?;
        if let Some(key) = &self.key {
            write!(f, " key {key:?}")?;
        }
        match (self.state, unknown) {
            (Some(EventState::Pending), _) => write!(f, ": pending, due {}", self.available_at)?,
            (Some(EventState::Processing), _) => write!(f, ": processing, until {}", self.available_at)?,
            (Some(state), _) => write!(f, ": {state}")?,
            (None, Some(state)) => write!(f, ": {state}")?,
            (None, None) => {}
        }
        match (&self.waits_for, self.behind) {
            (None, _) => Ok(()),
            (Some(WaitReason::Key), Some(earlier)) => {
                write!(f, ", waits for an earlier event of its key, {earlier}")
            }
            (Some(reason), _) => {
                f.write_str(", waits for ")?;
                reason.fmt_of(f, "its")
            }
        }
    }
}
