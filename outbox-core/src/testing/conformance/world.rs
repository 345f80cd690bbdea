//! What the cases are written with: a fresh store on a clock that stands still.

use std::sync::Arc;
use std::time::Duration;

use uuid::Uuid;

use super::Backend;
use super::hand_worker::HandWorker;
use crate::Clock as _;
use crate::{
    Admin, Claim, ClaimRequest, ClaimState, ClaimToken, DeadLetter, DeadLetterFilter, EventId, EventState,
    Explanation, HandlerProgress, Ledger, ManualClock, NewEvent, OnDead, Release, SubscribedHandler,
    Subscription, Timestamp,
};

/// Lease of the claims in every case.
pub(super) const LEASE: Duration = Duration::from_secs(60);

/// Attempts of a handler in every case that does not say otherwise.
pub(super) const MAX_ATTEMPTS: u32 = 3;

pub(super) const SECOND: Duration = Duration::from_secs(1);
pub(super) const MILLISECOND: Duration = Duration::from_millis(1);

/// A fresh store, and the clock that it goes by.
pub struct World {
    pub(super) clock: ManualClock,
    pub(super) ledger: Arc<dyn Ledger>,
    pub(super) admin: Arc<dyn Admin>,
    backend: Box<dyn Backend>,
}

/// A handler of events that fit `pattern`.
pub(super) fn handler(name: &str, pattern: &str) -> SubscribedHandler {
    SubscribedHandler {
        name: Arc::from(name),
        event_type: Arc::from(pattern),
        max_version: u32::MAX,
        max_attempts: MAX_ATTEMPTS,
        lease: LEASE,
        on_dead: OnDead::Continue,
    }
}

/// An event of a type, with an empty payload.
pub(super) fn event(event_type: &str) -> NewEvent {
    NewEvent::raw(event_type, "{}")
}

/// What selects every dead letter.
pub(super) fn all() -> DeadLetterFilter {
    DeadLetterFilter::default()
}

impl World {
    pub(super) fn new(clock: ManualClock, backend: Box<dyn Backend>) -> Self {
        Self { clock, ledger: backend.ledger(), admin: backend.admin(), backend }
    }

    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    pub(super) fn pass(&self, time: Duration) {
        self.clock.advance(time);
    }

    pub(super) async fn enqueue(&self, event: NewEvent) -> EventId {
        self.enqueue_all([event]).await[0]
    }

    /// Enqueues fresh events and returns their ids.
    pub(super) async fn enqueue_all(&self, events: impl IntoIterator<Item = NewEvent>) -> Vec<EventId> {
        let written = self.backend.enqueue_all(events.into_iter().collect()).await.expect("enqueued");
        assert!(
            written.iter().all(|written| !written.duplicate),
            "fresh events are no duplicates: {written:?}"
        );
        written.into_iter().map(|written| written.id).collect()
    }

    pub(super) fn backend(&self) -> &dyn Backend {
        &*self.backend
    }

    /// A worker with these handlers, which have been listed.
    pub(super) async fn worker(&self, handlers: impl IntoIterator<Item = SubscribedHandler>) -> HandWorker {
        let bus = self.backend.bus();
        let handlers: Vec<_> = handlers.into_iter().collect();
        let joint = bus.store_id().is_some() && bus.store_id() == self.ledger.store_id();
        let owner = Uuid::new_v4();
        let subscription = Subscription { owner, handlers: handlers.clone(), grant_claims: joint };
        bus.subscribe(subscription).await.expect("subscribed");
        HandWorker { owner, bus, ledger: Arc::clone(&self.ledger), handlers }
    }

    /// A worker with one handler, named like the type of its events.
    pub(super) async fn worker_for(&self, event_type: &str) -> HandWorker {
        self.worker([handler(event_type, event_type)]).await
    }

    pub(super) async fn explain(&self, event_id: EventId) -> Explanation {
        self.admin.explain(event_id).await.expect("explained").expect("the store knows the event")
    }

    /// The state of an event's row.
    pub(super) async fn state(&self, event_id: EventId) -> EventState {
        self.explain(event_id).await.state.expect("the event's row is there")
    }

    /// How far a handler is with an event.
    pub(super) async fn progress(&self, event_id: EventId, handler: &str) -> HandlerProgress {
        let explanation = self.explain(event_id).await;
        let found = explanation.handlers.iter().find(|progress| progress.handler == handler);
        found.unwrap_or_else(|| panic!("{handler} is not among the handlers of {explanation}")).clone()
    }

    pub(super) async fn claim_state(&self, event_id: EventId, handler: &str) -> Option<ClaimState> {
        self.progress(event_id, handler).await.state
    }

    pub(super) async fn dead_letters(&self) -> Vec<DeadLetter> {
        self.admin.dead_letters(&all(), 1_000).await.expect("listed")
    }

    /// Asks for a claim as a worker process does whose ledger is not its bus's.
    pub(super) async fn claim(&self, owner: Uuid, event_id: EventId, handler: &str) -> Claim {
        let request = ClaimRequest {
            event_id,
            handler: Arc::from(handler),
            owner,
            lease: LEASE,
            max_attempts: MAX_ATTEMPTS,
        };
        self.ledger.claim(&request).await.expect("the ledger answers")
    }

    /// Claims as a new worker process, which must succeed.
    pub(super) async fn granted(&self, event_id: EventId, handler: &str) -> ClaimToken {
        match self.claim(Uuid::new_v4(), event_id, handler).await {
            Claim::Granted(token) => token,
            other => panic!("{handler} was not granted {event_id}: {other:?}"),
        }
    }
}

/// How a handler's claim is given back after a failure.
pub(super) fn failed(due: Timestamp, error: &str) -> Release {
    Release { due, error: Some(error.to_owned()), refund: false }
}
