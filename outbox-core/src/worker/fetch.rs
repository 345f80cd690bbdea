//! The loop that receives events, never more than can start at once.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::health::Step;
use super::in_hand::Planned;
use super::room::{Room, Taken};
use super::settings::WorkerSettings;
use super::shared::WorkerShared;
use crate::telemetry::WorkerMetrics;
use crate::{Received, StoreError};

/// Receives and starts runs until the shutdown.
pub(super) async fn run(
    worker: &Arc<WorkerShared>,
    settings: &WorkerSettings,
    metrics: &WorkerMetrics,
    runs: &TaskTracker,
    shutdown: &CancellationToken,
) {
    let room = Room::new(settings.concurrency);
    let mut pause = worker.store_pause();
    loop {
        let Some(free) = shutdown.run_until_cancelled(room.take()).await else {
            return;
        };
        let idle = if worker.heartbeat.is_failing() {
            Idle::Failed
        } else {
            // Not cancelled by the shutdown: what was received must be started, or it stays claimed until its lease ends.
            match receive(worker, metrics, free.runs()).await {
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

/// Starts each event on a task of its own, with room for its runs. An event with more runs than there is room left for,
/// as a bus that grants no claims may deliver it, runs as many at a time as there is.
fn start(worker: &Arc<WorkerShared>, runs: &TaskTracker, mut free: Taken, received: Vec<Received>) {
    for event in received {
        let event = Planned::new(Arc::clone(worker), event);
        let room = free.split(event.runs().max(1));
        runs.spawn(event.process(room));
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
