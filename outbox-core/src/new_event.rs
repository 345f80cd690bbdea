//! An event that is about to be written.

use std::time::{Duration, SystemTime};

use crate::limits::{self, InvalidEvent};
use crate::{Delivery, Envelope, Event, EventId, Headers, Timestamp};

/// An event that is about to be enqueued, with what may be said beside its payload.
///
/// ```
/// # extern crate outbox_core as outbox;
/// use std::time::Duration;
/// use outbox::{Event, NewEvent};
/// # use serde::{Deserialize, Serialize};
/// # #[derive(Serialize, Deserialize, Event)]
/// # #[event(type = "movie.added")]
/// # struct MovieAdded { title: String }
///
/// let event = MovieAdded { title: "Heat".to_owned() };
/// let new = NewEvent::new(&event)?
///     .key("m1")
///     .header("tenant", "acme")
///     .after(Duration::from_secs(60));
/// # Ok::<(), outbox::InvalidEvent>(())
/// ```
///
/// Types, keys and headers are checked when the event is enqueued, for every backend alike.
#[derive(Debug, Clone)]
pub struct NewEvent {
    id: Option<EventId>,
    cause: Option<Delivery>,
    label: Option<String>,
    due: Due,
    envelope: Envelope,
    payload_is_checked: bool,
}

#[derive(Debug, Clone, Copy)]
enum Due {
    Now,
    After(Duration),
    At(SystemTime),
}

/// An event that passed every check: what a backend writes.
#[derive(Debug, Clone)]
pub struct ReadyEvent {
    /// The event. `occurred_at` is the moment given to [`NewEvent::ready`].
    pub envelope: Envelope,
    /// When it may be handled.
    pub available_at: Timestamp,
}

impl NewEvent {
    /// Takes type, version, key and payload from `event`.
    ///
    /// # Errors
    ///
    /// [`InvalidEvent::Payload`] if the event cannot be written as JSON.
    pub fn new<E: Event>(event: &E) -> Result<Self, InvalidEvent> {
        let payload =
            serde_json::to_string(event).map_err(|e| InvalidEvent::Payload { reason: e.to_string() })?;
        let mut new = Self::of(E::TYPE, payload);
        new.envelope.version = E::VERSION;
        new.envelope.key = event.key();
        new.payload_is_checked = true;
        Ok(new)
    }

    /// An event of a type that only the running program knows, with its payload as JSON text, which is kept
    /// verbatim.
    pub fn raw(event_type: impl Into<String>, payload: impl Into<String>) -> Self {
        Self::of(event_type.into(), payload.into())
    }

    fn of(event_type: impl Into<String>, payload: String) -> Self {
        Self {
            id: None,
            cause: None,
            label: None,
            due: Due::Now,
            envelope: Envelope {
                id: EventId::from(uuid::Uuid::nil()),
                event_type: event_type.into(),
                version: 1,
                key: None,
                payload,
                headers: Headers::new(),
                occurred_at: Timestamp::from_millis(0),
            },
            payload_is_checked: false,
        }
    }

    /// Uses `id` instead of a fresh one: enqueueing it again is reported as a duplicate and changes nothing.
    #[must_use]
    pub fn id(mut self, id: EventId) -> Self {
        self.id = Some(id);
        self
    }

    /// Sets the version of the payload's shape; only useful with [`NewEvent::raw`].
    #[must_use]
    pub fn version(mut self, version: u32) -> Self {
        self.envelope.version = version;
        self
    }

    /// Sets the key within which order is kept.
    #[must_use]
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.envelope.key = Some(key.into());
        self
    }

    /// Handles the event `delay` from now at the earliest. At most 100 years.
    #[must_use]
    pub fn after(mut self, delay: Duration) -> Self {
        self.due = Due::After(delay);
        self
    }

    /// Handles the event at `time` at the earliest. A moment that has passed means at once.
    #[must_use]
    pub fn at(mut self, time: SystemTime) -> Self {
        self.due = Due::At(time);
        self
    }

    /// Adds a header; its name is stored in lower case.
    #[must_use]
    pub fn header(mut self, name: impl AsRef<str>, value: impl Into<String>) -> Self {
        self.envelope.headers.insert(name.as_ref().to_ascii_lowercase(), value.into());
        self
    }

    /// Makes this a follow-up of the event that is being handled.
    ///
    /// Its id is then derived (UUID v5) from the cause, the handler, the type, the key, and how many follow-ups of
    /// that type and key the run has made before it, so that a re-run enqueues nothing twice while two equal
    /// follow-ups of one run are both kept. Where the order of follow-ups may differ between runs, give each a
    /// [`label`](NewEvent::label) instead of relying on the count. An explicit [`id`](NewEvent::id) wins.
    ///
    /// `tx.enqueue(…)` on a handler's own transaction does this by itself. The trace context of the cause is
    /// carried on.
    #[must_use]
    pub fn caused_by(mut self, delivery: &Delivery) -> Self {
        self.cause = Some(delivery.clone());
        self
    }

    /// Names this follow-up within its run, in place of the count.
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = Some(label.into());
        self
    }

    /// Makes this a follow-up of `delivery` unless a cause or an id was given. For backends.
    #[must_use]
    pub fn or_caused_by(self, delivery: &Delivery) -> Self {
        if self.cause.is_none() { self.caused_by(delivery) } else { self }
    }

    /// Checks the event and settles its id and due time. For backends.
    ///
    /// # Errors
    ///
    /// [`InvalidEvent`], naming what is wrong.
    pub fn ready(self, now: Timestamp) -> Result<ReadyEvent, InvalidEvent> {
        let mut envelope = self.envelope;
        if let Some(cause) = &self.cause {
            cause.pass_on_trace(&mut envelope.headers);
        }
        limits::check(&envelope)?;
        if !self.payload_is_checked {
            serde_json::from_str::<serde::de::IgnoredAny>(&envelope.payload)
                .map_err(|e| InvalidEvent::Payload { reason: e.to_string() })?;
        }
        let available_at = match self.due {
            Due::Now => now,
            Due::After(delay) => {
                limits::check_delay(delay)?;
                now.after(delay)
            }
            Due::At(time) => limits::check_due(time)?,
        };
        envelope.occurred_at = now;
        envelope.id = match (self.id, &self.cause) {
            (Some(id), _) => id,
            (None, Some(cause)) => cause.follow_up_id(&envelope, self.label.as_deref()),
            (None, None) => EventId::new(),
        };
        Ok(ReadyEvent { envelope, available_at })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delivery::tests::delivery;

    fn ready(new: NewEvent) -> Result<ReadyEvent, InvalidEvent> {
        new.ready(Timestamp::from_millis(1_000))
    }

    #[test]
    fn payload_text_is_kept_byte_for_byte() {
        let text =
            r#"{"u":18446744073709551615, "j":9007199254740993,"d":0.1234567890123456789,"dup":1,"dup":2}"#;
        assert_eq!(ready(NewEvent::raw("a", text)).unwrap().envelope.payload, text);
    }

    #[test]
    fn what_is_wrong_is_named() {
        let bad = [
            (NewEvent::raw("a b", "{}"), "event type"),
            (NewEvent::raw("a", "{"), "payload is not JSON"),
            (NewEvent::raw("a", "{}").version(0), "version 0"),
            (NewEvent::raw("a", "{}").key("k".repeat(513)), "event key"),
            (NewEvent::raw("a", "{}").key("a\nb"), "event key"),
            (NewEvent::raw("a", "{}").header("a", "x\ny"), "header \"a\""),
            (NewEvent::raw("a", "{}").after(Duration::MAX), "due time"),
        ];
        for (new, named) in bad {
            let error = ready(new).unwrap_err().to_string();
            assert!(error.contains(named), "{error}");
        }
    }

    #[test]
    fn two_equal_follow_ups_of_one_run_differ_and_a_re_run_finds_the_same_ids() {
        let ids = || {
            let run = delivery();
            [0; 2].map(|_| ready(NewEvent::raw("b", "{}").caused_by(&run)).unwrap().envelope.id)
        };
        let [first, second] = ids();
        assert_ne!(first, second);
        assert_eq!(ids(), [first, second]);
    }

    #[test]
    fn labelled_follow_ups_have_the_same_ids_in_any_order() {
        let id = |run: &Delivery, label: &str| {
            ready(NewEvent::raw("b", "{}").caused_by(run).label(label)).unwrap().envelope.id
        };
        let (one, other) = (delivery(), delivery());
        assert_eq!([id(&one, "x"), id(&one, "y")], {
            let y = id(&other, "y");
            [id(&other, "x"), y]
        });
    }
}
