//! The library's side: a worker with one handler, until it has handled a number of events.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Result, bail};
use outbox::{CancellationToken, Handler, SqliteOutbox, State, Worker, event_handler};
use tokio::sync::mpsc;

use crate::events::Noted;

/// Counts events, and asks the worker to stop at the last.
#[derive(Clone)]
pub(crate) struct Countdown {
    left: Arc<AtomicUsize>,
    shutdown: CancellationToken,
}

impl Countdown {
    fn from(count: usize) -> Self {
        Self { left: Arc::new(AtomicUsize::new(count)), shutdown: CancellationToken::new() }
    }

    pub(crate) fn down(&self) {
        if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.shutdown.cancel();
        }
    }
}

/// Does nothing with the event but count it.
#[event_handler(name = "noop", idempotency(skip = "a benchmark"))]
async fn noop(_event: Noted, State(countdown): State<Countdown>) -> Result<(), std::convert::Infallible> {
    countdown.down();
    Ok(())
}

/// Where a handler says which event it started with, and when.
pub(crate) type Starts = mpsc::UnboundedSender<(u64, SystemTime)>;

/// Notes the moment at which it starts.
#[event_handler(name = "clock_in", idempotency(skip = "a benchmark"))]
async fn clock_in(event: Noted, State(starts): State<Starts>) -> Result<(), std::convert::Infallible> {
    let now = SystemTime::now();
    // Nobody listens any more once the measurement is over.
    let _ = starts.send((event.number, now));
    Ok(())
}

/// Handler runs at a time: the default.
pub(crate) const CONCURRENCY: usize = 64;

pub(crate) static NOOP: &Handler = &noop::HANDLER;
pub(crate) static CLOCK_IN: &Handler = &clock_in::HANDLER;

/// Events per second, from the start of the worker until its return: the last settlement is written then.
pub(crate) async fn handle(
    store: &SqliteOutbox,
    handler: &'static Handler,
    count: usize,
    concurrency: usize,
) -> Result<f64> {
    const LONGEST: Duration = Duration::from_secs(120);
    let countdown = Countdown::from(count);
    let worker = Worker::builder(store.bus(), store.ledger())
        .only_given_handlers()
        .handlers([handler])
        .state(countdown.clone())
        .concurrency(concurrency)
        .build()?;
    let start = Instant::now();
    match tokio::time::timeout(LONGEST, worker.run(countdown.shutdown.clone())).await {
        Ok(ended) => ended?,
        Err(_) => bail!(
            "{} of {count} events were not handled within {LONGEST:?}",
            countdown.left.load(Ordering::Relaxed)
        ),
    }
    Ok(count as f64 / start.elapsed().as_secs_f64())
}
