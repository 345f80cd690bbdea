//! Large changes in short steps.

use std::time::{Duration, Instant};

/// Most rows that one step changes: a few milliseconds of the write lock.
pub(super) const STEP: usize = 500;

/// Leaves the lock to others between the steps of one call.
///
/// SQLite has no queue for its lock: a waiting connection looks again after pauses of up to 100 ms, and gets it only if it
/// is free at that moment. So it has to be free for as long as it was taken, not just for a moment in between.
#[derive(Debug)]
pub(super) struct Breath {
    began: Instant,
    steps: u32,
}

const LEAST: Duration = Duration::from_millis(2);
const MOST: Duration = Duration::from_millis(200);

impl Breath {
    /// Before the first step.
    pub(super) fn new() -> Self {
        Self { began: Instant::now(), steps: 0 }
    }

    /// Between two steps: pauses once to twice as long as the last step took, so that steps and looks do not keep
    /// time with each other.
    pub(super) async fn take(&mut self) {
        let took = self.began.elapsed();
        let pause = (took + took * (self.steps % 5) / 4).clamp(LEAST, MOST);
        tokio::time::sleep(pause).await;
        self.steps += 1;
        self.began = Instant::now();
    }
}
