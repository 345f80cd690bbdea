//! The queue as a worker has it.

use std::sync::Arc;
use std::time::Duration;

use outbox_core::{Bus, OnDead, SubscribedHandler, Subscription};
use outbox_sqlite::{SqliteBus, SqliteOutbox};
use uuid::Uuid;

/// What a test says of its handler.
pub(crate) struct Terms {
    pub(crate) max_attempts: u32,
    pub(crate) lease: Duration,
    pub(crate) grant_claims: bool,
}

/// For one handler, `h` of the type `t`.
pub(crate) async fn subscribed(store: &SqliteOutbox, terms: Terms) -> SqliteBus {
    let handler = SubscribedHandler {
        name: Arc::from("h"),
        event_type: Arc::from("t"),
        max_version: 1,
        max_attempts: terms.max_attempts,
        lease: terms.lease,
        on_dead: OnDead::Continue,
    };
    let bus = store.bus();
    let subscription =
        Subscription { owner: Uuid::new_v4(), handlers: vec![handler], grant_claims: terms.grant_claims };
    bus.subscribe(subscription).await.unwrap();
    bus
}
