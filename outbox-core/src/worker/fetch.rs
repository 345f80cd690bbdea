//! The loop that receives events, never more than can start at once.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::health::Step;
use super::in_hand::Planned;
use super::settings::WorkerSettings;
use super::shared::WorkerShared;
use crate::telemetry::WorkerMetrics;
use crate::{Received, StoreError};

/// Runs that end together free their slots within this time; taking them together makes larger batches.
const LINGER: Duration = Duration::from_micros(500);

/// Receives and starts runs until the shutdown.
pub(super) async fn run(
    worker: &Arc<WorkerShared>,
    settings: &WorkerSettings,
    metrics: &WorkerMetrics,
    runs: &TaskTracker,
    shutdown: &CancellationToken,
) {
    let slots = Arc::new(Semaphore::new(settings.concurrency));
    let mut pause = worker.store_pause();
    loop {
        let Some(free) = shutdown.run_until_cancelled(free_slots(&slots, settings.concurrency)).await else {
            return;
        };
        let idle = if worker.heartbeat.is_failing() {
            Idle::Failed
        } else {
            // Not cancelled by the shutdown: what was received must be started, or it stays claimed until its lease ends.
            match receive(worker, metrics, free.num_permits()).await {
                Ok(received) => {
                    worker.health.store_works(Step::Receive);
                    pause = worker.store_pause();
                    if !received.is_empty() {
                        start(worker, runs, free, received);
                        continue;
                    }
                    Idle::Empty
                }
                Err(failure) => {
                    worker.health.store_failed(Step::Receive, &failure);
                    Idle::Failed
                }
            }
        };
        drop(free);
        let rest = async {
            match idle {
                Idle::Empty => wait_for_work(worker, settings.poll).await,
                Idle::Failed => drop(pause.wait().await),
            }
        };
        if shutdown.run_until_cancelled(rest).await.is_none() {
            return;
        }
    }
}

enum Idle {
    Empty,
    Failed,
}

/// Every free slot, at least one. While few are free, waits a moment for those that are about to be.
async fn free_slots(slots: &Arc<Semaphore>, concurrency: usize) -> OwnedSemaphorePermit {
    let first = Arc::clone(slots).acquire_owned().await;
    let mut taken = first.unwrap_or_else(|_| unreachable!("the semaphore is never closed"));
    if slots.available_permits() + 1 < concurrency / 2 {
        tokio::time::sleep(LINGER).await;
    }
    while let Ok(more) = Arc::clone(slots).try_acquire_many_owned(slots.available_permits().max(1) as u32) {
        taken.merge(more);
    }
    taken
}

async fn receive(
    worker: &WorkerShared,
    metrics: &WorkerMetrics,
    max: usize,
) -> Result<Vec<Received>, StoreError> {
    let before = worker.clock.passed();
    let received = worker.bus.receive(max).await?;
    if !received.is_empty() {
        metrics.claim_seconds.record(worker.clock.passed().saturating_sub(before));
        metrics.received.increment(received.len() as u64);
    }
    Ok(received)
}

/// Starts each event on a task of its own, which holds one slot per run. An event with more runs than there are slots
/// left, as a bus that grants no claims may deliver it, runs as many at a time as it has slots.
fn start(
    worker: &Arc<WorkerShared>,
    runs: &TaskTracker,
    mut free: OwnedSemaphorePermit,
    received: Vec<Received>,
) {
    for event in received {
        let event = Planned::new(Arc::clone(worker), event);
        let slots = event.runs().clamp(1, free.num_permits().max(1));
        // A bus that delivers more than was asked for is served all the same.
        let held = free.split(slots.min(free.num_permits()));
        runs.spawn(async move {
            event.process(slots).await;
            drop(held);
        });
    }
}

/// Returns at a wake-up, when the next event is due, or after the poll interval.
async fn wait_for_work(worker: &WorkerShared, poll: Duration) {
    let now = worker.clock.now();
    let due = worker.bus.next_due().await.ok().flatten();
    // Judged by the wall clock, but never longer than the poll interval, should that clock be set back.
    let rest = due.map_or(poll, |due| due.since(now).min(poll));
    tokio::select! {
        () = worker.bus.wake() => {}
        () = worker.clock.sleep(rest) => {}
    }
}
