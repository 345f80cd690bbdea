//! An event as it is stored and transported.

use std::collections::BTreeMap;

use crate::{EventId, Timestamp};

/// Headers of an event: names in lower case, in order.
pub type Headers = BTreeMap<String, String>;

/// An event on its way: what every bus carries and every backend stores.
///
/// `payload` is JSON text and is never reformatted, so digits, key order and spacing reach the handler as written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Envelope {
    /// Identity of the event.
    pub id: EventId,
    /// Stable name, see [`Event::TYPE`](crate::Event::TYPE).
    pub event_type: String,
    /// Version of the payload's shape.
    pub version: u32,
    /// Key within which order is kept.
    pub key: Option<String>,
    /// JSON text, verbatim.
    pub payload: String,
    /// Headers, such as `traceparent`.
    pub headers: Headers,
    /// When the event was written.
    pub occurred_at: Timestamp,
}
