//! Counts handler runs, for the progress bar and for `--crash-after`.
//!
//! The library counts by the facade of the crate `metrics`, so a program that wants the figures installs a recorder. A real
//! one would be an exporter; this one keeps a single counter.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use anyhow::{Result, anyhow};
use metrics::{Counter, CounterFn, Gauge, Histogram, Key, KeyName, Metadata, Recorder, SharedString, Unit};

/// The counter of finished runs, one per handler; see `outbox::telemetry`.
const HANDLED: &str = "outbox_handled_total";

/// How many handler runs this process has finished.
pub(crate) struct Runs {
    handled: AtomicU64,
    crash_after: Option<u64>,
}

impl Runs {
    /// Begins to count. With `crash_after`, the process aborts in the midst of the run of that number: for a handler
    /// without a transaction, after its effect and before its ledger mark.
    pub(crate) fn install(crash_after: Option<u64>) -> Result<Arc<Self>> {
        let runs = Arc::new(Self { handled: AtomicU64::new(0), crash_after });
        metrics::set_global_recorder(OneCounter(Arc::clone(&runs))).map_err(|error| anyhow!("{error}"))?;
        Ok(runs)
    }

    /// The count.
    pub(crate) fn handled(&self) -> u64 {
        self.handled.load(Ordering::Relaxed)
    }
}

impl CounterFn for Runs {
    fn increment(&self, value: u64) {
        let before = self.handled.fetch_add(value, Ordering::Relaxed);
        if self.crash_after.is_some_and(|limit| (before..before + value).contains(&(limit - 1))) {
            eprintln!("aborting after {} handler runs, as asked", before + value);
            std::process::abort();
        }
    }

    fn absolute(&self, value: u64) {
        self.handled.fetch_max(value, Ordering::Relaxed);
    }
}

struct OneCounter(Arc<Runs>);

impl Recorder for OneCounter {
    fn describe_counter(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_gauge(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}
    fn describe_histogram(&self, _: KeyName, _: Option<Unit>, _: SharedString) {}

    fn register_counter(&self, key: &Key, _: &Metadata<'_>) -> Counter {
        if key.name() == HANDLED { Counter::from_arc(Arc::clone(&self.0)) } else { Counter::noop() }
    }

    fn register_gauge(&self, _: &Key, _: &Metadata<'_>) -> Gauge {
        Gauge::noop()
    }

    fn register_histogram(&self, _: &Key, _: &Metadata<'_>) -> Histogram {
        Histogram::noop()
    }
}
