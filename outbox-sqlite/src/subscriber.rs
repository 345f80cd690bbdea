//! The handlers of one worker, in the form that the statements take.

use std::sync::{Mutex, PoisonError};

use outbox_core::{OnDead, SubscribedHandler, Subscription};
use serde_json::{Value, json};
use uuid::Uuid;

use crate::stranded::Place;

/// A worker's handlers. Made once per subscription; its parts go into every claim as they are.
#[derive(Debug)]
pub(crate) struct Subscriber {
    pub(crate) owner: Uuid,
    /// Whether the claims are kept in this database, and granted with the rows.
    pub(crate) grants: bool,
    /// For the claim: `[{name, event_type, pattern, …}]`.
    pub(crate) handlers: String,
    /// The event types, without patterns, with the highest version that any handler of the type knows.
    pub(crate) types: Vec<(String, u32)>,
    /// The ranges to look in where there are no patterns.
    pub(crate) plain_probes: String,
    /// Patterns of event types.
    pub(crate) patterns: Vec<String>,
    /// Where the search for stranded rows goes on.
    place: Mutex<Option<Place>>,
}

/// For rows that wait for a newer version, the worker looks for this many versions up to its own.
const VERSIONS: u32 = 64;

impl Subscriber {
    pub(crate) fn new(subscription: &Subscription) -> Self {
        let handlers = &subscription.handlers;
        let all: Vec<Value> = handlers.iter().map(handler).collect();
        let mut types: Vec<(String, u32)> = Vec::new();
        let mut patterns = Vec::new();
        for handler in handlers {
            let name = handler.event_type.to_string();
            if is_pattern(&name) {
                patterns.push(name);
            } else if let Some(known) = types.iter_mut().find(|(known, _)| *known == name) {
                known.1 = known.1.max(handler.max_version);
            } else {
                types.push((name, handler.max_version));
            }
        }
        let mut subscriber = Self {
            owner: subscription.owner,
            grants: subscription.grant_claims,
            handlers: Value::from(all).to_string(),
            plain_probes: String::new(),
            types,
            patterns,
            place: Mutex::new(None),
        };
        subscriber.plain_probes = subscriber.probes(&[]);
        subscriber
    }

    /// Where the search for stranded rows goes on; `None` at the beginning.
    pub(crate) fn looked_up_to(&self) -> Option<Place> {
        self.place.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(crate) fn look_on_from(&self, place: Option<Place>) {
        *self.place.lock().unwrap_or_else(PoisonError::into_inner) = place;
    }

    pub(crate) fn has_handlers(&self) -> bool {
        !self.types.is_empty() || !self.patterns.is_empty()
    }

    /// The ranges of the index in which rows for this worker may be: per type, those that wait for nothing, and those
    /// that wait for a version it knows. `seen` are types in the queue, for patterns.
    pub(crate) fn probes(&self, seen: &[String]) -> String {
        let mut probes = Vec::new();
        for (event_type, version) in &self.types {
            probes.push(json!({ "type": event_type, "waits_for": "" }));
            let oldest = version.saturating_sub(VERSIONS).max(1) + 1;
            probes.extend(
                (oldest..=*version)
                    .map(|v| json!({ "type": event_type, "waits_for": format!("version:{v}") })),
            );
        }
        for event_type in seen {
            let fits = |pattern: &String| outbox_core::matches_pattern(pattern, event_type);
            if self.patterns.iter().any(fits) && !self.types.iter().any(|(known, _)| known == event_type) {
                probes.push(json!({ "type": event_type, "waits_for": "" }));
            }
        }
        Value::from(probes).to_string()
    }
}

fn handler(handler: &SubscribedHandler) -> Value {
    json!({
        "name": &*handler.name,
        "event_type": &*handler.event_type,
        "pattern": i32::from(is_pattern(&handler.event_type)),
        "max_version": handler.max_version,
        "max_attempts": handler.max_attempts,
        "lease_ms": u64::try_from(handler.lease.as_millis()).unwrap_or(u64::MAX / 2),
        "block": i32::from(handler.on_dead == OnDead::Block),
    })
}

fn is_pattern(event_type: &str) -> bool {
    event_type.contains('*')
}
