//! One of the two stores, and what can be seen of it, in terms that both share: events are known by their numbers,
//! since those of foreign writers get a random id in each store.

use std::collections::BTreeMap;
use std::sync::Arc;

use outbox_core::testing::conformance::Backend;
use outbox_core::{
    Admin, Bus, ClaimState, ClaimToken, DeadLetter, EventId, EventState, HandlerProgress, Ledger, Receipt,
    Received, Timestamp, WaitReason,
};
use uuid::Uuid;

use crate::pair::Outcome;
use crate::record::Record;

/// The number of an event within a history; its payload says it.
pub(crate) type Number = usize;

/// One store.
pub(crate) struct Side {
    pub(crate) backend: Box<dyn Backend>,
    pub(crate) ledger: Arc<dyn Ledger>,
    pub(crate) admin: Arc<dyn Admin>,
    /// The buses of all workers there ever were.
    pub(crate) buses: Vec<Arc<dyn Bus>>,
    /// What has happened on this side.
    pub(crate) record: Record,
    ids: BTreeMap<Number, EventId>,
}

/// A delivery as this store made it.
#[derive(Debug, Clone)]
pub(crate) struct Delivery {
    pub(crate) receipt: Receipt,
    /// By handler. `None`: the bus grants no claims.
    pub(crate) claims: Option<Vec<ClaimToken>>,
}

/// A delivery as both stores must make it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Delivered {
    pub(crate) number: Number,
    pub(crate) event_type: String,
    pub(crate) version: u32,
    pub(crate) key: Option<String>,
    pub(crate) occurred_at: Timestamp,
    pub(crate) claims: Option<Vec<Granted>>,
}

/// A claim as both stores must grant it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Granted {
    pub(crate) handler: String,
    pub(crate) owner: Uuid,
    pub(crate) attempt: u32,
    pub(crate) started_at: Timestamp,
    pub(crate) lease_until: Timestamp,
}

/// An event as both stores must show it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    pub(crate) state: Option<EventState>,
    pub(crate) event_type: String,
    pub(crate) version: u32,
    pub(crate) key: Option<String>,
    pub(crate) payload: String,
    pub(crate) handlers: BTreeMap<String, Progress>,
    /// Moments of the timeline, with the handler they are about.
    pub(crate) timeline: Vec<(Timestamp, Option<String>)>,
}

/// How far a handler is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) stage: Stage,
    pub(crate) attempts: u32,
    pub(crate) owner: Option<String>,
    pub(crate) started_at: Option<Timestamp>,
    pub(crate) error: Option<String>,
}

/// Where a handler stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Stage {
    NotBegun,
    Running {
        until: Timestamp,
    },
    /// May be claimed: it is due again, or its worker's lease is over.
    Free,
    Pausing {
        until: Timestamp,
    },
    Done {
        at: Option<Timestamp>,
    },
    Dead {
        at: Option<Timestamp>,
    },
}

/// A dead letter as both stores must list it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Letter {
    pub(crate) died_at: Timestamp,
    pub(crate) number: Number,
    pub(crate) handler: Option<String>,
    pub(crate) event_type: String,
    pub(crate) key: Option<String>,
    pub(crate) attempts: Option<u32>,
    pub(crate) reason: String,
}

impl Side {
    pub(crate) fn new(backend: impl Backend) -> Self {
        Self {
            ledger: backend.ledger(),
            admin: backend.admin(),
            backend: Box::new(backend),
            buses: Vec::new(),
            record: Record::default(),
            ids: BTreeMap::new(),
        }
    }

    pub(crate) fn meet(&mut self, number: Number, id: EventId) {
        self.ids.insert(number, id);
    }

    /// `None`: a foreign event that has not got an id yet, as far as has been told.
    pub(crate) fn id(&self, number: Number) -> Option<EventId> {
        self.ids.get(&number).copied()
    }

    /// Deliveries by the numbers of their events.
    pub(crate) fn take_in(
        &mut self,
        received: Vec<Received>,
        now: Timestamp,
    ) -> Outcome<Vec<(Delivered, Delivery)>> {
        let mut taken: Vec<_> = received.into_iter().map(|received| self.take_in_one(received)).collect();
        taken.sort_by_key(|(delivered, _)| delivered.number);
        for (delivered, _) in &taken {
            self.record.granted(delivered, now)?;
        }
        Ok(taken)
    }

    fn take_in_one(&mut self, received: Received) -> (Delivered, Delivery) {
        let Received { envelope, receipt, claims } = received;
        let number = number_in(&envelope.payload);
        self.meet(number, envelope.id);
        let claims = claims.map(|mut claims| {
            claims.sort_by(|a, b| a.handler.cmp(&b.handler));
            claims
        });
        let delivered = Delivered {
            number,
            event_type: envelope.event_type.clone(),
            version: envelope.version,
            key: envelope.key.clone(),
            occurred_at: envelope.occurred_at,
            claims: claims.as_ref().map(|claims| claims.iter().map(Granted::of).collect()),
        };
        (delivered, Delivery { receipt, claims })
    }

    /// What the store shows of an event, and what it says that it waits for.
    pub(crate) async fn see(&self, id: EventId, now: Timestamp) -> Option<(Seen, Option<WaitReason>)> {
        let explanation = self.admin.explain(id).await.expect("explained")?;
        let unfinished = matches!(explanation.state, Some(EventState::Pending | EventState::Processing));
        let handlers = explanation.handlers.iter().filter(|progress| unfinished || progress.state.is_some());
        let handlers: BTreeMap<_, _> =
            handlers.map(|progress| (progress.handler.clone(), Progress::of(progress, now))).collect();
        // When the lease of a lost worker ended is told until somebody notes the loss.
        let is_noted = |handler: &String| handlers.get(handler).is_none_or(|seen| seen.stage != Stage::Free);
        let timeline = explanation.timeline.into_iter().filter(|e| e.handler.as_ref().is_none_or(is_noted));
        let timeline = timeline.map(|entry| (entry.at, entry.handler)).collect();
        let seen = Seen {
            state: explanation.state,
            event_type: explanation.event_type,
            version: explanation.version,
            key: explanation.key,
            payload: explanation.payload,
            handlers,
            timeline,
        };
        Some((seen, explanation.waits_for))
    }

    /// Every dead letter, in the order of the list as far as it is defined.
    pub(crate) async fn letters(&mut self) -> Vec<Letter> {
        let letters = self.admin.dead_letters(&Default::default(), 10_000).await.expect("listed");
        assert!(letters.is_sorted_by_key(|letter| letter.died_at), "oldest first: {letters:?}");
        let mut letters: Vec<_> = letters.into_iter().map(|letter| self.letter(letter)).collect();
        letters.sort();
        self.record.listed(&letters);
        letters
    }

    fn letter(&mut self, letter: DeadLetter) -> Letter {
        let number = number_in(&letter.payload);
        self.meet(number, letter.event_id);
        Letter {
            died_at: letter.died_at,
            number,
            // Of an event that was given up as a whole, each store counts deliveries in its own way.
            attempts: letter.handler.as_ref().map(|_| letter.attempts),
            handler: letter.handler,
            event_type: letter.event_type,
            key: letter.key,
            reason: letter.reason,
        }
    }
}

impl Seen {
    /// Whether a handler runs on it.
    pub(crate) fn is_run(&self) -> bool {
        self.handlers.values().any(|progress| matches!(progress.stage, Stage::Running { .. }))
    }
}

impl Delivered {
    pub(crate) fn runs(&self) -> usize {
        self.claims.as_ref().map_or(1, Vec::len)
    }

    /// The pair that a claim is for, and its token.
    pub(crate) fn claim(&self, claim: usize) -> Option<((Number, String), &Granted)> {
        let claim = self.claims.as_ref()?.get(claim)?;
        Some(((self.number, claim.handler.clone()), claim))
    }
}

impl Granted {
    fn of(token: &ClaimToken) -> Self {
        Self {
            handler: token.handler.to_string(),
            owner: token.owner,
            attempt: token.attempt,
            started_at: token.started_at,
            lease_until: token.lease_until,
        }
    }
}

impl Progress {
    fn of(progress: &HandlerProgress, now: Timestamp) -> Self {
        let until = progress.lease_until;
        let stage = match (progress.state, until) {
            (None, _) => Stage::NotBegun,
            (Some(ClaimState::Done), _) => Stage::Done { at: progress.processed_at },
            (Some(ClaimState::Dead), _) => Stage::Dead { at: progress.processed_at },
            (Some(ClaimState::InProgress), Some(until)) if until > now => Stage::Running { until },
            (Some(ClaimState::Released), Some(until)) if until > now => Stage::Pausing { until },
            (Some(ClaimState::InProgress | ClaimState::Released), _) => Stage::Free,
        };
        Self {
            attempts: progress.attempts,
            owner: progress.owner.clone(),
            started_at: progress.started_at,
            // Whoever looks first at a claim whose worker is gone notes that; until then it is the failure before.
            error: progress.last_error.clone().filter(|_| stage != Stage::Free),
            stage,
        }
    }
}

/// The payload of an event.
pub(crate) fn payload(number: Number) -> String {
    format!(r#"{{"number": {number}}}"#)
}

fn number_in(payload: &str) -> Number {
    let digits: String = payload.chars().filter(char::is_ascii_digit).collect();
    digits.parse().unwrap_or_else(|_| panic!("no event of ours: {payload}"))
}
