//! From a commit in another process to the start of the handler here, one event at a time, with nothing else to do.

use std::collections::HashMap;
use std::time::{Duration, UNIX_EPOCH};

use anyhow::{Context, Result, ensure};
use outbox::{CancellationToken, Worker};
use tokio::sync::mpsc;

use crate::arguments::Scale;
use crate::children::{self, Task};
use crate::database::{Database, MODES};
use crate::report::{self, Target};
use crate::rounds::Figures;
use crate::worker::{CLOCK_IN, Starts};

pub(crate) async fn run(scale: Scale) -> Result<()> {
    let count = scale.rows(1_000);
    for (synchronous, mode) in MODES {
        let database = Database::new(synchronous).await?;
        let latencies = measure(&database, count).await?;
        let conditions = format!("{count} events, 6 to 11 ms apart, idle worker, default settings, {mode}");
        for (part, name, target) in [(0.5, "p50", 1.0), (0.99, "p99", 10.0), (1.0, "longest", f64::NAN)] {
            let target = (!target.is_nan()).then_some(Target::AtMost(target));
            report::figure(
                &format!("commit to handler, other process, {mode}, {name}"),
                latencies.quantile(part),
                "ms",
                target,
                &conditions,
            );
        }
    }
    Ok(())
}

/// Milliseconds from when COMMIT returned there to when the handler began here; none if it began before that.
async fn measure(database: &Database, count: usize) -> Result<Figures> {
    let (starts, mut started): (Starts, _) = mpsc::unbounded_channel();
    let worker = Worker::builder(database.store().bus(), database.store().ledger())
        .only_given_handlers()
        .handlers([CLOCK_IN])
        .state(starts)
        .build()?;
    let shutdown = CancellationToken::new();
    let working = tokio::spawn({
        let shutdown = shutdown.clone();
        async move { worker.run(shutdown).await }
    });
    let commits = children::spawn(Task::Commit, &database.file(), database.synchronous(), count).await?;
    let mut starts = HashMap::new();
    while starts.len() < count {
        let next = tokio::time::timeout(Duration::from_secs(10), started.recv()).await;
        let (number, at) =
            next.context("events were not handled within 10 s")?.context("the worker has ended")?;
        let since = at.duration_since(UNIX_EPOCH)?.as_nanos() as f64;
        ensure!(starts.insert(number, since).is_none(), "event {number} was handled twice");
    }
    shutdown.cancel();
    working.await??;
    commits
        .iter()
        .map(|line| {
            let (number, commit) = (line[0] as u64, line[1]);
            let start = starts.get(&number).with_context(|| format!("event {number} was not handled"))?;
            Ok(((start - commit) / 1e6).max(0.0))
        })
        .collect()
}
