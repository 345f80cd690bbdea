//! What a handler may ask about the event in its hands.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use crate::{Envelope, EventId, Headers};

/// Headers of the [W3C Trace Context](https://www.w3.org/TR/trace-context/) that follow-up events inherit.
const TRACE_HEADERS: [&str; 2] = ["traceparent", "tracestate"];

type FollowUps = HashMap<(String, Option<String>), u32>;

/// The delivery that is being handled. A handler asks for it by an argument of this type.
///
/// ```
/// # extern crate outbox_core as outbox;
/// use outbox::{Delivery, Event, EventId, event_handler};
///
/// # #[derive(serde::Serialize, serde::Deserialize, Event)]
/// # #[event(type = "movie.added")]
/// # struct MovieAdded { title: String }
/// # async fn send(_: &MovieAdded, _: EventId) -> Result<(), String> { Ok(()) }
/// #[event_handler(name = "mailer")]
/// async fn mailer(event: MovieAdded, delivery: Delivery) -> Result<(), String> {
///     send(&event, delivery.event_id).await // the event id as the remote side's idempotency key
/// }
/// # fn main() {}
/// ```
#[derive(Debug, Clone)]
pub struct Delivery {
    /// Identity of the event: the natural idempotency key for remote calls.
    pub event_id: EventId,
    /// Stable name of the event.
    pub event_type: String,
    /// Version of the payload as it was stored, before any upcast.
    pub version: u32,
    /// Key within which order is kept.
    pub key: Option<String>,
    /// Which attempt of this handler this is, from 1.
    pub attempt: u32,
    /// When the event was written.
    pub occurred_at: SystemTime,
    /// Headers, names in lower case.
    pub headers: Headers,
    /// Name of the handler.
    pub handler: String,
    /// How many follow-ups the run has made, by type and key.
    follow_ups: Arc<Mutex<FollowUps>>,
}

impl Delivery {
    /// The delivery of `envelope` to `handler` for the `attempt`-th time. The worker makes these; tests of a handler
    /// may, too.
    #[must_use]
    pub fn new(envelope: &Envelope, handler: &str, attempt: u32) -> Self {
        Self {
            event_id: envelope.id,
            event_type: envelope.event_type.clone(),
            version: envelope.version,
            key: envelope.key.clone(),
            attempt,
            occurred_at: envelope.occurred_at.into(),
            headers: envelope.headers.clone(),
            handler: handler.to_owned(),
            follow_ups: Arc::default(),
        }
    }

    /// See [`NewEvent::caused_by`](crate::NewEvent::caused_by). Parts are separated by NUL, which none of them holds.
    pub(crate) fn follow_up_id(&self, follow_up: &Envelope, label: Option<&str>) -> EventId {
        let key = follow_up.key.as_deref().unwrap_or_default();
        let place = match label {
            Some(label) => format!("label:{label}"),
            None => format!("n:{}", self.count(follow_up)),
        };
        self.event_id.derive(format!("{}\0{}\0{key}\0{place}", self.handler, follow_up.event_type).as_bytes())
    }

    fn count(&self, follow_up: &Envelope) -> u32 {
        let mut counts = self.follow_ups.lock().unwrap_or_else(PoisonError::into_inner);
        let count = counts.entry((follow_up.event_type.clone(), follow_up.key.clone())).or_default();
        *count += 1;
        *count
    }

    pub(crate) fn pass_on_trace(&self, headers: &mut Headers) {
        for name in TRACE_HEADERS {
            if let Some(value) = self.headers.get(name) {
                headers.entry(name.to_owned()).or_insert_with(|| value.clone());
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::Timestamp;

    pub(crate) fn delivery() -> Delivery {
        let envelope = Envelope {
            id: EventId::from(uuid::Uuid::from_u128(7)),
            event_type: "a".to_owned(),
            version: 1,
            key: Some("k".to_owned()),
            payload: "{}".to_owned(),
            headers: Headers::from([("traceparent".to_owned(), "00-1-2-01".to_owned())]),
            occurred_at: Timestamp::from_millis(5),
        };
        Delivery::new(&envelope, "mailer", 1)
    }

    #[test]
    fn a_follow_up_inherits_the_trace_unless_it_has_its_own() {
        let mut inherited = Headers::new();
        delivery().pass_on_trace(&mut inherited);
        assert_eq!(inherited["traceparent"], "00-1-2-01");

        let mut own = Headers::from([("traceparent".to_owned(), "mine".to_owned())]);
        delivery().pass_on_trace(&mut own);
        assert_eq!(own["traceparent"], "mine");
    }
}
