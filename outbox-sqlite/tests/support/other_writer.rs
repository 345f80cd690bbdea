//! An application that writes beside the framework, on a connection that the gate knows nothing of.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sqlx::Connection;

use super::{Database, connect, run};

/// Writes on a connection of its own, one short transaction after the other, and measures how long each takes.
pub(crate) struct OtherWriter {
    stop: Arc<AtomicBool>,
    task: tokio::task::JoinHandle<(Duration, u32)>,
}

impl OtherWriter {
    pub(crate) fn start(database: &Database) -> Self {
        let (file, stop) = (database.file(), Arc::new(AtomicBool::new(false)));
        let stopped = Arc::clone(&stop);
        let task = tokio::spawn(async move {
            let mut connection = connect(&file).await;
            run(&mut connection, "CREATE TABLE IF NOT EXISTS other (x)").await;
            let (mut longest, mut writes) = (Duration::ZERO, 0);
            while !stopped.load(Ordering::SeqCst) {
                let start = Instant::now();
                let mut tx = connection.begin_with("BEGIN IMMEDIATE").await.expect("the lock in time");
                run(&mut tx, "INSERT INTO other VALUES (1)").await;
                tx.commit().await.unwrap();
                longest = longest.max(start.elapsed());
                writes += 1;
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            (longest, writes)
        });
        Self { stop, task }
    }

    pub(crate) async fn waited_less_than(self, limit: Duration, what: &str) {
        self.stop.store(true, Ordering::SeqCst);
        let (longest, writes) = self.task.await.unwrap();
        assert!(longest < limit, "{what}: a write of {writes} took {longest:?}");
        assert!(writes > 0, "{what}: nothing was written meanwhile");
    }
}
