//! A worker whose every step the case decides.

use std::sync::Arc;

use uuid::Uuid;

use crate::{
    Bus, Claim, ClaimRequest, ClaimToken, Envelope, EventId, Ledger, Receipt, Received, Retention,
    Settlement, SubscribedHandler, Timestamp, Unhandled, Upkeep, UpkeepReport, matches_pattern,
};

use super::world::failed;

/// A worker whose every step the case decides.
pub(super) struct HandWorker {
    pub(super) owner: Uuid,
    pub(super) bus: Arc<dyn Bus>,
    pub(super) ledger: Arc<dyn Ledger>,
    pub(super) handlers: Vec<SubscribedHandler>,
}

/// An event in a worker's hands, with the claims of the handlers that are to run.
pub(super) struct Taken {
    pub(super) event: Arc<Envelope>,
    pub(super) receipt: Receipt,
    pub(super) claims: Vec<ClaimToken>,
    bus: Arc<dyn Bus>,
    ledger: Arc<dyn Ledger>,
}

impl HandWorker {
    /// Takes everything that is due.
    pub(super) async fn take(&self) -> Vec<Taken> {
        self.take_at_most(1_000).await
    }

    /// Takes what is due and comes with at most that many handler runs.
    pub(super) async fn take_at_most(&self, runs: usize) -> Vec<Taken> {
        let mut taken = Vec::new();
        for received in self.bus.receive(runs).await.expect("received") {
            taken.extend(self.claim_for(received).await);
        }
        taken
    }

    /// Takes the only event that is due.
    pub(super) async fn take_one(&self) -> Taken {
        let mut taken = self.take().await;
        assert_eq!(taken.len(), 1, "exactly one event is due");
        taken.remove(0)
    }

    pub(super) async fn finds_nothing(&self) {
        let taken = self.take().await;
        let names: Vec<_> = taken.iter().map(|taken| (taken.event.id, taken.handlers())).collect();
        assert!(names.is_empty(), "nothing is due, yet these were delivered: {names:?}");
    }

    /// The ids of everything that is due, which stays in hand.
    pub(super) async fn take_ids(&self) -> Vec<EventId> {
        self.take().await.iter().map(|taken| taken.event.id).collect()
    }

    pub(super) async fn next_due(&self) -> Option<Timestamp> {
        self.bus.next_due().await.expect("the bus answers")
    }

    pub(super) async fn maintain(&self, unhandled: Unhandled) -> UpkeepReport {
        let upkeep = Upkeep { unhandled, retention: Retention::default() };
        self.bus.maintain(&upkeep).await.expect("maintained")
    }

    /// Where the bus grants no claims, asks the ledger, as a worker does. An event with nothing to run is settled.
    async fn claim_for(&self, received: Received) -> Option<Taken> {
        let Received { envelope, receipt, claims } = received;
        let claims = match claims {
            Some(claims) => claims,
            None => match self.ask_for_all(&envelope).await {
                Ok(claims) => claims,
                Err(settlement) => {
                    self.bus.settle(vec![(receipt, settlement)]).await.expect("settled");
                    return None;
                }
            },
        };
        let (bus, ledger) = (Arc::clone(&self.bus), Arc::clone(&self.ledger));
        Some(Taken { event: envelope, receipt, claims, bus, ledger })
    }

    /// The claims of the event's handlers, or what to settle it with if there are none.
    async fn ask_for_all(&self, event: &Envelope) -> Result<Vec<ClaimToken>, Settlement> {
        let mut held: Option<Timestamp> = None;
        let mut granted = Vec::new();
        for handler in self.handlers.iter().filter(|handler| takes(handler, event)) {
            match self.ask(handler, event.id).await {
                Claim::Granted(token) => granted.push(token),
                Claim::Held { until } => held = Some(held.map_or(until, |held| held.min(until))),
                Claim::Done | Claim::Dead => {}
            }
        }
        match (granted.is_empty(), held) {
            (false, _) => Ok(granted),
            (true, Some(until)) => Err(Settlement::Defer { until }),
            (true, None) => Err(Settlement::Done),
        }
    }

    async fn ask(&self, handler: &SubscribedHandler, event_id: EventId) -> Claim {
        let request = ClaimRequest {
            event_id,
            handler: Arc::clone(&handler.name),
            owner: self.owner,
            lease: handler.lease,
            max_attempts: handler.max_attempts,
        };
        self.ledger.claim(&request).await.expect("the ledger answers")
    }

    /// Takes everything that is due, as often as something is, and finishes it. Returns (event, handler) in order.
    pub(super) async fn work_off(&self) -> Vec<(EventId, String)> {
        let mut worked = Vec::new();
        loop {
            let taken = self.take().await;
            if taken.is_empty() {
                return worked;
            }
            for taken in taken {
                worked.extend(taken.handlers().into_iter().map(|name| (taken.event.id, name)));
                taken.done().await;
            }
        }
    }

    /// Lets everything that is due fail for the last time.
    pub(super) async fn bury_all(&self, reason: &str) {
        for taken in self.take().await {
            taken.bury(reason).await;
        }
    }
}

fn takes(handler: &SubscribedHandler, event: &Envelope) -> bool {
    matches_pattern(&handler.event_type, &event.event_type) && event.version <= handler.max_version
}

impl Taken {
    /// The handlers that are to run, by name.
    pub(super) fn handlers(&self) -> Vec<String> {
        let mut names: Vec<_> = self.claims.iter().map(|claim| claim.handler.to_string()).collect();
        names.sort();
        names
    }

    /// The claim of a handler.
    pub(super) fn claim(&self, handler: &str) -> &ClaimToken {
        let found = self.claims.iter().find(|claim| *claim.handler == *handler);
        found.unwrap_or_else(|| panic!("{handler} is not among {:?}", self.handlers()))
    }

    /// Finishes every handler, and the event.
    pub(super) async fn done(self) {
        for claim in &self.claims {
            self.ledger.done(claim).await.expect("the claim is ours");
        }
        self.settle(Settlement::Done).await;
    }

    /// Every handler fails and is due again at `due`.
    pub(super) async fn fail(self, due: Timestamp) {
        for claim in &self.claims {
            self.ledger.release(claim, &failed(due, "it failed")).await.expect("the claim is ours");
        }
        self.settle(Settlement::Retry { at: due, error: "it failed".to_owned() }).await;
    }

    /// Every handler gives up.
    pub(super) async fn bury(self, reason: &str) {
        for claim in &self.claims {
            self.ledger.bury(claim, reason).await.expect("the claim is ours");
        }
        self.settle(Settlement::Done).await;
    }

    /// Says that one of the handlers has finished, while others run.
    pub(super) async fn progressed(&self) {
        self.bus.progressed(&self.receipt).await.expect("told");
    }

    pub(super) async fn settle(&self, settlement: Settlement) {
        self.bus.settle(vec![(self.receipt.clone(), settlement)]).await.expect("settled");
    }
}
