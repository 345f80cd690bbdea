//! An event that a worker has received and not yet settled.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use tracing::Instrument;

use super::health::Step;
use super::room::Taken;
use super::shared::{WorkerHandler, WorkerShared};
use crate::{ClaimToken, Envelope, HandlerRun, Receipt, Received, RunEnd, Settlement, Timestamp, telemetry};

pub(crate) struct InHand {
    pub(crate) worker: Arc<WorkerShared>,
    pub(crate) envelope: Arc<Envelope>,
    pub(crate) receipt: Receipt,
    /// Runs that have not come to their end.
    outstanding: AtomicUsize,
    settled: AtomicBool,
}

/// A received event and the runs that it is to have.
pub(super) struct Planned {
    in_hand: Arc<InHand>,
    runs: Vec<PlannedRun>,
}

type PlannedRun = (Arc<WorkerHandler>, Option<ClaimToken>);

impl Planned {
    pub(super) fn new(worker: Arc<WorkerShared>, received: Received) -> Self {
        let runs = planned_runs(&worker, &received);
        let in_hand = InHand {
            worker,
            envelope: received.envelope,
            receipt: received.receipt,
            outstanding: AtomicUsize::new(runs.len()),
            settled: AtomicBool::new(false),
        };
        Self { in_hand: Arc::new(in_hand), runs }
    }

    /// How many runs there will be.
    pub(super) fn runs(&self) -> usize {
        self.runs.len()
    }

    /// Runs the handlers, as many at a time as there is room for, and settles the event.
    pub(super) async fn process(self, mut room: Taken) {
        let Self { in_hand, runs } = self;
        // A bus that delivers more than was asked for is served all the same.
        let at_a_time = room.runs().max(1);
        // With room for all, each gives its own up at its end, so that a slow one keeps no room but its own; else the next
        // one of the event takes it.
        let all_fit = runs.len() <= room.runs();
        let mut part = || all_fit.then(|| room.split(1));
        let ends = match <[PlannedRun; 1]>::try_from(runs) {
            Ok([run]) => vec![in_hand.run(run, part()).await],
            // Each on a task of its own: one that blocks its thread must not hold up the others.
            Err(runs) => {
                let running = stream::iter(runs).map(|run| in_hand.spawn(run, part()));
                running.buffer_unordered(at_a_time).collect().await
            }
        };
        if !in_hand.settled.load(Ordering::Acquire) {
            in_hand.settle(in_hand.settlement(&ends)).await;
        }
    }
}

impl InHand {
    async fn spawn(self: &Arc<Self>, run: PlannedRun, room: Option<Taken>) -> RunEnd {
        let in_hand = Arc::clone(self);
        let task = tokio::spawn(async move { in_hand.run(run, room).await });
        // Panics of a handler are caught inside; a panic here is the framework's own, and the claim expires.
        task.await.unwrap_or(RunEnd::LeaseLost)
    }

    /// Holds its room until its end is written, and the right to run until it has ended.
    async fn run(self: &Arc<Self>, (handler, granted): PlannedRun, mut room: Option<Taken>) -> RunEnd {
        let slot = room.as_mut().and_then(Taken::slot);
        let span = telemetry::handle_span(&handler.name, &self.envelope);
        let run = HandlerRun::new(Arc::clone(self), Arc::clone(&handler), granted, slot);
        let end = handler.handler.run(run).instrument(span).await;
        let end = end.unwrap_or_else(|end| end);
        let others_go_on = self.outstanding.fetch_sub(1, Ordering::AcqRel) > 1;
        if others_go_on && self.envelope.key.is_some() && matches!(end, RunEnd::Done | RunEnd::Dead { .. }) {
            // What this handler may now get of the key need not wait for the others. If this fails, it does.
            let _ = self.worker.bus.progressed(&self.receipt).await;
        }
        end
    }

    /// Whether bus and ledger share a store, so that the last run's mark and the settlement can be sent together.
    pub(crate) fn is_joint_and_last(&self) -> bool {
        self.worker.joint && self.outstanding.load(Ordering::Acquire) == 1
    }

    /// Settles the event, repeating until the bus has taken it or the worker gives up; then its lease runs out.
    pub(crate) async fn settle(&self, settlement: Settlement) {
        self.settled.store(true, Ordering::Release);
        let mut pause = self.worker.store_pause();
        while let Err(failure) =
            self.worker.bus.settle(vec![(self.receipt.clone(), settlement.clone())]).await
        {
            self.worker.health.store_failed(Step::Settle, &failure);
            if !pause.wait().await {
                return;
            }
        }
        self.worker.health.store_works(Step::Settle);
    }

    /// What the runs' ends mean for the event as a whole: done only when all are, else back at the earliest time.
    fn settlement(&self, ends: &[RunEnd]) -> Settlement {
        let now = self.worker.clock.now();
        if ends.is_empty() {
            // None of this worker's handlers takes it, so it is somebody else's.
            return Settlement::Defer { until: now.after(self.worker.bus.lease()) };
        }
        let mut due: Option<Timestamp> = None;
        let mut failure = None;
        for end in ends {
            let again = match end {
                RunEnd::Done | RunEnd::AlreadyDone | RunEnd::Dead { .. } | RunEnd::AlreadyDead => continue,
                RunEnd::Released { due, error } => {
                    failure.get_or_insert_with(|| error.clone());
                    *due
                }
                RunEnd::Held { until } => *until,
                // Whoever took over settles, too; otherwise it comes again after the lease.
                RunEnd::LeaseLost => now.after(self.worker.bus.lease()),
                // Whatever the store did about the claim, it will tell when it is asked again.
                RunEnd::StoreFailed(_) => now.after(ASK_AGAIN),
            };
            due = Some(due.map_or(again, |due| due.min(again)));
        }
        match (due, failure) {
            (None, _) => Settlement::Done,
            (Some(at), Some(error)) => Settlement::Retry { at, error },
            (Some(until), None) => Settlement::Defer { until },
        }
    }
}

/// When to ask again for a claim about which the store could not be asked.
const ASK_AGAIN: Duration = Duration::from_secs(1);

/// The handlers to run: those whose claims came along, or all that take the event.
fn planned_runs(worker: &WorkerShared, received: &Received) -> Vec<PlannedRun> {
    match &received.claims {
        Some(claims) => claims
            .iter()
            .filter_map(|claim| Some((Arc::clone(worker.handler(&claim.handler)?), Some(claim.clone()))))
            .collect(),
        None => worker
            .handlers
            .iter()
            .filter(|handler| handler.takes(&received.envelope.event_type, received.envelope.version))
            .map(|handler| (Arc::clone(handler), None))
            .collect(),
    }
}
