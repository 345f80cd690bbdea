//! A worker that runs within the test's own process.

use std::time::Duration;

use outbox::{Backoff, CancellationToken, Health, Worker, WorkerBuilder, WorkerError, WorkerSettings};
use tokio::task::JoinHandle;

/// Settings that keep a test short.
pub(crate) fn quick() -> WorkerSettings {
    WorkerSettings {
        poll: Duration::from_millis(50),
        lease: Duration::from_secs(2),
        backoff: Backoff { base: Duration::from_millis(50), cap: Duration::from_secs(1) },
        ..WorkerSettings::default()
    }
}

/// A running worker, stopped when this is dropped.
pub(crate) struct Running {
    pub(crate) worker: Worker,
    shutdown: CancellationToken,
    task: JoinHandle<Result<(), WorkerError>>,
}

impl Running {
    /// Builds and starts it.
    pub(crate) fn start(builder: WorkerBuilder) -> Self {
        let worker = builder.build().expect("the worker can be built");
        let shutdown = CancellationToken::new();
        let task = tokio::spawn({
            let (worker, shutdown) = (worker.clone(), shutdown.clone());
            async move { worker.run(shutdown).await }
        });
        Self { worker, shutdown, task }
    }

    pub(crate) fn health(&self) -> Health {
        self.worker.health()
    }

    /// Shuts it down and fails if it does not drain.
    pub(crate) async fn stop(mut self) {
        self.shutdown.cancel();
        (&mut self.task).await.expect("the worker does not panic").expect("the worker drains");
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}
