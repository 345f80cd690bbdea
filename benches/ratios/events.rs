//! The events that all benchmarks use: a payload of 300 bytes of JSON.

use outbox::Event;
use serde::{Deserialize, Serialize};

/// Bytes of a payload.
pub(crate) const PAYLOAD: usize = 300;

#[derive(Serialize, Deserialize, Event)]
#[event(type = "bench.noted")]
pub(crate) struct Noted {
    pub(crate) number: u64,
    pub(crate) text: String,
}

/// As [`Noted`], in order per subject.
#[derive(Serialize, Deserialize, Event)]
#[event(type = "bench.noted_in_order", key = "subject")]
pub(crate) struct NotedInOrder {
    pub(crate) subject: String,
    pub(crate) number: u64,
    pub(crate) text: String,
}

impl Noted {
    pub(crate) fn new(number: u64) -> Self {
        let mut noted = Self { number, text: String::new() };
        noted.text = filler(&noted);
        noted
    }
}

impl NotedInOrder {
    pub(crate) fn new(subject: String, number: u64) -> Self {
        let mut noted = Self { subject, number, text: String::new() };
        noted.text = filler(&noted);
        noted
    }
}

/// Text that brings the payload to its size.
fn filler(event: &impl Serialize) -> String {
    let without = serde_json::to_string(event).map_or(0, |json| json.len());
    "lorem ipsum ".chars().cycle().take(PAYLOAD.saturating_sub(without)).collect()
}
