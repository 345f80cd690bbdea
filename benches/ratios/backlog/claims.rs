//! Claiming rows as a worker does, without a worker around it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use outbox::{
    Bus, Ledger, NewEvent, OnDead, Received, Settlement, SqliteBus, SqliteOutbox, SubscribedHandler,
    Subscription, Synchronous,
};
use uuid::Uuid;

use crate::database::{Database, open};
use crate::events::Noted;

/// Rows of one claim.
pub(crate) const MAX: usize = 100;

/// Names of handlers and the types that they take.
const NOOP: (&str, &str) = ("noop", "bench.noted");
const IN_ORDER: (&str, &str) = ("in_order", "bench.noted_in_order");

/// Has one handler for each type of event that the benchmarks know.
pub(crate) struct Claimant<'d> {
    database: &'d Database,
    store: SqliteOutbox,
    bus: SqliteBus,
}

impl<'d> Claimant<'d> {
    /// Opens the database anew, in this mode.
    pub(crate) async fn new(database: &'d Database, synchronous: Synchronous) -> Result<Self> {
        Self::with(database, synchronous, &[NOOP, IN_ORDER]).await
    }

    async fn with(
        database: &'d Database,
        synchronous: Synchronous,
        handlers: &[(&str, &str)],
    ) -> Result<Self> {
        let store = open(&database.file(), synchronous).await?;
        let bus = store.bus();
        let handlers: Vec<_> = handlers.iter().copied().map(handler).collect();
        bus.subscribe(Subscription { owner: Uuid::new_v4(), handlers, grant_claims: true }).await?;
        Ok(Self { database, store, bus })
    }

    pub(crate) fn bus(&self) -> &SqliteBus {
        &self.bus
    }

    /// Claims `calls` times as much as [`MAX`] allows. Rows per second of the claims alone; afterwards the rows are
    /// marked as done and as many new ones put in their place.
    pub(crate) async fn claim(&self, calls: usize) -> Result<f64> {
        let mut received = Vec::with_capacity(calls * MAX);
        let start = Instant::now();
        for _ in 0..calls {
            // A call that only put blocked rows aside is followed by another, as in a worker.
            let batch = loop {
                let batch = self.bus.receive(MAX).await?;
                if !batch.is_empty() {
                    break batch;
                }
                ensure!(start.elapsed() < Duration::from_secs(300), "nothing was received within 300 s");
            };
            received.extend(batch);
        }
        let rate = received.len() as f64 / start.elapsed().as_secs_f64();
        ensure!(received.len() == calls * MAX, "{} of {} rows were claimed", received.len(), calls * MAX);
        self.finish(received).await?;
        let next = |number| Ok(NewEvent::new(&Noted::new(number as u64))?);
        self.database.fill(calls * MAX, next).await?;
        Ok(rate)
    }

    /// Looks at `rows` rows that only a claim can tell to be blocked, until all are put aside. Seconds.
    pub(crate) async fn put_aside(database: &'d Database, rows: usize) -> Result<f64> {
        let claimant = Self::with(database, Synchronous::Normal, &[IN_ORDER]).await?;
        let waiting = "SELECT count(*) FROM event_queue WHERE event_type = 'bench.noted_in_order' AND waits_for = 'key'";
        let start = Instant::now();
        loop {
            let received = claimant.bus.receive(MAX).await?;
            ensure!(received.is_empty(), "{} rows behind a blocked key were received", received.len());
            let seconds = start.elapsed().as_secs_f64();
            if database.number(waiting).await? == rows as i64 {
                return Ok(seconds);
            }
            ensure!(seconds < 300.0, "{rows} rows were not put aside within 300 s");
        }
    }

    async fn finish(&self, received: Vec<Received>) -> Result<()> {
        let ledger = self.store.ledger();
        let mut marks = tokio::task::JoinSet::new();
        let mut settlements = Vec::with_capacity(received.len());
        for event in received {
            let [claim] = <[_; 1]>::try_from(event.claims.context("a row came without its claims")?)
                .map_err(|claims| anyhow::anyhow!("a row came with {} claims", claims.len()))?;
            let ledger = ledger.clone();
            marks.spawn(async move { ledger.done(&claim).await });
            settlements.push((event.receipt, Settlement::Done));
        }
        while let Some(marked) = marks.join_next().await {
            marked??;
        }
        Ok(self.bus.settle(settlements).await?)
    }
}

fn handler((name, event_type): (&str, &str)) -> SubscribedHandler {
    SubscribedHandler {
        name: Arc::from(name),
        event_type: Arc::from(event_type),
        max_version: 1,
        max_attempts: 10,
        lease: Duration::from_secs(60),
        on_dead: OnDead::Continue,
    }
}
