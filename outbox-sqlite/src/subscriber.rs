//! The handlers of one worker, in the form that the statements take.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use outbox_core::{OnDead, SubscribedHandler, Subscription, matches_pattern};
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
    /// The types to look for where there are no patterns: `[{type, max_version}]`.
    pub(crate) plain_types: String,
    /// Whether types that were seen in the queue are to be looked for, too.
    pub(crate) has_patterns: bool,
    subscribed: Vec<SubscribedHandler>,
    /// Where the search for stranded rows goes on.
    place: Mutex<Option<Place>>,
}

impl Subscriber {
    pub(crate) fn new(subscription: &Subscription) -> Self {
        let subscribed = subscription.handlers.clone();
        let handlers: Vec<Value> = subscribed.iter().map(handler).collect();
        let mut subscriber = Self {
            owner: subscription.owner,
            grants: subscription.grant_claims,
            handlers: Value::from(handlers).to_string(),
            plain_types: String::new(),
            has_patterns: subscribed.iter().any(|handler| is_pattern(&handler.event_type)),
            subscribed,
            place: Mutex::new(None),
        };
        subscriber.plain_types = subscriber.types(&[]);
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
        !self.subscribed.is_empty()
    }

    /// The types to look for, each with the highest version that any handler of it knows. `seen` are types in the queue, for
    /// patterns.
    pub(crate) fn types(&self, seen: &[String]) -> String {
        let own = self.subscribed.iter().map(|handler| &*handler.event_type);
        let types: BTreeSet<&str> =
            own.filter(|name| !is_pattern(name)).chain(seen.iter().map(String::as_str)).collect();
        let known = types.into_iter().filter_map(|event_type| Some((event_type, self.knows(event_type)?)));
        let known = known.map(|(event_type, version)| json!({ "type": event_type, "max_version": version }));
        Value::from(known.collect::<Vec<_>>()).to_string()
    }

    /// The highest version of a type that any handler knows, if there is a handler.
    fn knows(&self, event_type: &str) -> Option<u32> {
        let fitting = self.subscribed.iter().filter(|h| matches_pattern(&h.event_type, event_type));
        fitting.map(|handler| handler.max_version).max()
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
