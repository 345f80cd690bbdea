//! A worker whose ledger is not its bus's: it claims by itself, and tells the bus what became of the event.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use outbox_core::{
    Bus, Claim, ClaimRequest, Envelope, Ledger, MemoryBus, MemoryLedger, NewEvent, PublishError, Publisher,
    Receipt, Received, RuntimeHandler, Settlement, StoreError, Subscription, Timestamp, Upkeep, UpkeepReport,
    Worker, WorkerBuilder, async_trait,
};
use uuid::Uuid;

use crate::support::{Bench, Running, Runs, eventually, quiet, seconds};

/// A bus that keeps what it is told, and names no store.
#[derive(Clone)]
struct Noting {
    bus: MemoryBus,
    settled: Arc<Mutex<Vec<Settlement>>>,
}

impl Noting {
    fn new(bench: &Bench) -> Self {
        Self { bus: MemoryBus::new().with_clock(Arc::new(bench.clock.clone())), settled: Arc::default() }
    }

    /// Publishes an event and returns it.
    async fn publish_one(&self, bench: &Bench) -> Envelope {
        let envelope = NewEvent::raw("t", "{}").ready(bench.store.now()).unwrap().envelope;
        self.bus.publish(std::slice::from_ref(&envelope)).await;
        envelope
    }

    async fn first_settlement(&self) -> Settlement {
        eventually("the event is settled", async || !self.settled.lock().unwrap().is_empty()).await;
        self.settled.lock().unwrap()[0].clone()
    }
}

#[async_trait]
impl Publisher for Noting {
    async fn publish(&self, events: &[Envelope]) -> Vec<Result<(), PublishError>> {
        self.bus.publish(events).await
    }
}

#[async_trait]
impl Bus for Noting {
    async fn subscribe(&self, subscription: Subscription) -> Result<(), StoreError> {
        assert!(!subscription.grant_claims, "the bus has no ledger");
        self.bus.subscribe(subscription).await
    }
    async fn receive(&self, max: usize) -> Result<Vec<Received>, StoreError> {
        self.bus.receive(max).await
    }
    async fn settle(&self, settlements: Vec<(Receipt, Settlement)>) -> Result<(), StoreError> {
        self.settled.lock().unwrap().extend(settlements.iter().map(|(_, settlement)| settlement.clone()));
        self.bus.settle(settlements).await
    }
    async fn extend(&self, receipts: &[Receipt]) -> Result<(), StoreError> {
        self.bus.extend(receipts).await
    }
    async fn wake(&self) {
        self.bus.wake().await;
    }
    async fn next_due(&self) -> Result<Option<Timestamp>, StoreError> {
        self.bus.next_due().await
    }
    async fn maintain(&self, upkeep: &Upkeep) -> Result<UpkeepReport, StoreError> {
        self.bus.maintain(upkeep).await
    }
    fn lease(&self) -> Duration {
        self.bus.lease()
    }
}

fn worker(bench: &Bench, bus: &Noting, ledger: &MemoryLedger) -> WorkerBuilder {
    let builder = Worker::builder(bus.clone(), ledger.clone());
    builder.clock(Arc::new(bench.clock.clone())).only_given_handlers()
}

fn ledger(bench: &Bench) -> MemoryLedger {
    MemoryLedger::new().with_clock(Arc::new(bench.clock.clone()))
}

/// Takes a claim as another process does.
async fn claim_elsewhere(ledger: &MemoryLedger, event: &Envelope, handler: &str) -> outbox_core::ClaimToken {
    let request = ClaimRequest {
        event_id: event.id,
        handler: Arc::from(handler),
        owner: Uuid::new_v4(),
        lease: seconds(60),
        max_attempts: 10,
    };
    match ledger.claim(&request).await.unwrap() {
        Claim::Granted(token) => token,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_event_is_settled_as_done_when_its_handlers_have_finished() {
    let bench = Bench::new();
    let (bus, ledger, runs) = (Noting::new(&bench), ledger(&bench), Runs::new(&bench));
    let running = Running::start(worker(&bench, &bus, &ledger).runtime_handler(runs.handler()));
    bus.publish_one(&bench).await;
    assert_eq!(bus.first_settlement().await, Settlement::Done);
    assert_eq!(runs.count(), 1);
    running.stop().await;
}

#[tokio::test]
async fn a_failed_event_is_settled_for_its_earliest_retry() {
    let bench = Bench::new();
    let (bus, ledger, runs) = (Noting::new(&bench), ledger(&bench), Runs::new(&bench));
    let slow = RuntimeHandler::new("slow", "t", |_, _| async {
        Err::<(), _>(outbox_core::HandlerError::retry_after(seconds(90), "busy"))
    });
    let builder = worker(&bench, &bus, &ledger).runtime_handler(runs.failing_handler()).runtime_handler(slow);
    let running = Running::start(builder);
    bus.publish_one(&bench).await;
    let Settlement::Retry { at, error } = bus.first_settlement().await else { panic!("it failed") };
    assert_eq!(at, bench.store.now().after(seconds(5)));
    assert!(["no network", "busy"].contains(&&*error), "{error}");
    bench.clock.advance(seconds(5));
    runs.until(2).await;
    running.stop().await;
}

#[tokio::test]
async fn an_event_that_was_handled_before_is_done_without_a_run() {
    let bench = Bench::new();
    let (bus, ledger, runs) = (Noting::new(&bench), ledger(&bench), Runs::new(&bench));
    let event = bus.publish_one(&bench).await;
    let token = claim_elsewhere(&ledger, &event, "h").await;
    ledger.done(&token).await.unwrap();
    let running = Running::start(worker(&bench, &bus, &ledger).runtime_handler(runs.handler()));
    assert_eq!(bus.first_settlement().await, Settlement::Done);
    assert_eq!(runs.count(), 0);
    running.stop().await;
}

/// A handler that gave up is finished, too: the others go on, and the event does not come again.
#[tokio::test]
async fn an_event_whose_handler_gave_up_is_done_for_the_bus() {
    let bench = Bench::new();
    let (bus, ledger, runs) = (Noting::new(&bench), ledger(&bench), Runs::new(&bench));
    let event = bus.publish_one(&bench).await;
    let token = claim_elsewhere(&ledger, &event, "dead").await;
    ledger.bury(&token, "hopeless").await.unwrap();
    let dead = RuntimeHandler::new("dead", "t", |_, _| async { Err::<(), _>("must not run") });
    let running =
        Running::start(worker(&bench, &bus, &ledger).runtime_handler(runs.handler()).runtime_handler(dead));
    assert_eq!(bus.first_settlement().await, Settlement::Done);
    assert_eq!(runs.count(), 1);
    running.stop().await;
}

/// What another worker is about to handle is put off until its lease ends, without a spent attempt.
#[tokio::test]
async fn an_event_that_is_in_other_hands_is_put_off_to_the_end_of_their_lease() {
    let bench = Bench::new();
    let (bus, ledger, runs) = (Noting::new(&bench), ledger(&bench), Runs::new(&bench));
    let event = bus.publish_one(&bench).await;
    let token = claim_elsewhere(&ledger, &event, "h").await;
    let running = Running::start(worker(&bench, &bus, &ledger).runtime_handler(runs.handler()));
    assert_eq!(bus.first_settlement().await, Settlement::Defer { until: token.lease_until });
    assert_eq!(runs.count(), 0);
    bench.clock.advance(seconds(60));
    runs.until(1).await;
    assert_eq!(runs.all()[0].attempt, 2, "the other's attempt was its own");
    running.stop().await;
}

/// Duplicates from two brokers, one ledger: the handler runs once per event.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_workers_on_two_buses_and_one_ledger_run_a_handler_once() {
    let bench = Bench::new();
    let (ledger, runs) = (ledger(&bench), Runs::new(&bench));
    let buses = [Noting::new(&bench), Noting::new(&bench)];
    let running: Vec<_> = buses
        .iter()
        .map(|bus| Running::start(worker(&bench, bus, &ledger).runtime_handler(runs.handler())))
        .collect();
    let mut ids = Vec::new();
    for _ in 0..50 {
        let event = buses[0].publish_one(&bench).await;
        buses[1].publish(std::slice::from_ref(&event)).await;
        ids.push(event.id);
    }
    // No lease may run out while a handler is at work, so the clock stands still until all of them are through.
    runs.until(50).await;
    eventually("all runs have ended", async || runs.going() == 0).await;
    quiet().await;
    eventually("both buses are through", async || {
        quiet().await;
        bench.clock.advance(seconds(60));
        buses.iter().all(|bus| {
            let settled = bus.settled.lock().unwrap();
            settled.iter().filter(|settlement| **settlement == Settlement::Done).count() >= 50
        })
    })
    .await;
    for id in ids {
        assert_eq!(runs.of(id).len(), 1);
    }
    for running in running {
        running.stop().await;
    }
}

/// A bus that delivers what none of the handlers takes must not be told that it is done.
#[tokio::test]
async fn an_event_that_no_handler_takes_is_not_done() {
    struct Careless(Noting);

    #[async_trait]
    impl Publisher for Careless {
        async fn publish(&self, events: &[Envelope]) -> Vec<Result<(), PublishError>> {
            self.0.publish(events).await
        }
    }

    /// Delivers everything, since it subscribes to everything.
    #[async_trait]
    impl Bus for Careless {
        async fn subscribe(&self, mut subscription: Subscription) -> Result<(), StoreError> {
            for handler in &mut subscription.handlers {
                handler.event_type = Arc::from("*");
                handler.max_version = u32::MAX;
            }
            self.0.subscribe(subscription).await
        }
        async fn receive(&self, max: usize) -> Result<Vec<Received>, StoreError> {
            self.0.receive(max).await
        }
        async fn settle(&self, settlements: Vec<(Receipt, Settlement)>) -> Result<(), StoreError> {
            self.0.settle(settlements).await
        }
        async fn extend(&self, receipts: &[Receipt]) -> Result<(), StoreError> {
            self.0.extend(receipts).await
        }
        fn lease(&self) -> Duration {
            self.0.lease()
        }
    }

    let bench = Bench::new();
    let (bus, ledger, runs) = (Noting::new(&bench), ledger(&bench), Runs::new(&bench));
    let newer = NewEvent::raw("t", "{}").version(2).ready(bench.store.now()).unwrap().envelope;
    bus.publish(&[newer]).await;
    let builder = Worker::builder(Careless(bus.clone()), ledger).clock(Arc::new(bench.clock.clone()));
    let handler = runs.handler().max_version(1);
    let running = Running::start(builder.only_given_handlers().runtime_handler(handler));
    let settlement = bus.first_settlement().await;
    assert!(matches!(settlement, Settlement::Defer { .. }), "{settlement:?}");
    assert_eq!(runs.count(), 0);
    running.stop().await;
}
