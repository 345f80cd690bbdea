//! Regular upkeep beside the fetching: retention, types that nobody handles, the size of the backlog.

use std::collections::BTreeSet;
use std::time::Duration;

use tracing::warn;

use super::health::Step;
use super::settings::WorkerSettings;
use super::shared::WorkerShared;
use crate::telemetry::WorkerMetrics;
use crate::{Upkeep, UpkeepReport};

/// Between the steps of one round of upkeep, so that other writers get their turn.
const BREATH: Duration = Duration::from_millis(20);

/// Does upkeep at start and then at every interval. Never returns.
pub(super) async fn run(worker: &WorkerShared, settings: &WorkerSettings, metrics: &WorkerMetrics) {
    let upkeep = Upkeep { unhandled: settings.unhandled, retention: settings.retention.clone() };
    let mut warned = BTreeSet::new();
    let mut pause = worker.store_pause();
    loop {
        match worker.bus.maintain(&upkeep).await {
            Ok(report) => {
                worker.health.store_works(Step::Upkeep);
                pause = worker.store_pause();
                tell(worker, metrics, &report, &mut warned);
                let rest = if report.more { BREATH } else { settings.upkeep_interval };
                worker.clock.sleep(rest).await;
            }
            Err(failure) => {
                worker.health.store_failed(Step::Upkeep, &failure);
                pause.wait().await;
            }
        }
    }
}

fn tell(
    worker: &WorkerShared,
    metrics: &WorkerMetrics,
    report: &UpkeepReport,
    warned: &mut BTreeSet<String>,
) {
    metrics.backlog.set(report.backlog as f64);
    metrics
        .lag_seconds
        .set(report.oldest.map_or(0.0, |oldest| worker.clock.now().since(oldest).as_secs_f64()));
    for event_type in &report.unhandled_types {
        if warned.insert(event_type.clone()) {
            warn!(
                name: "outbox.unhandled",
                event_type,
                "events of this type wait, and no handler is listed for it: deploy one, or set `unhandled`"
            );
        }
    }
    for (handler, rows) in &report.waiting_for {
        if warned.insert(format!("handler {handler}")) {
            warn!(
                name: "outbox.waiting",
                handler, rows,
                "events wait for a handler that this worker does not have: start its binary, or retire it with `forget_handler`"
            );
        }
    }
}
