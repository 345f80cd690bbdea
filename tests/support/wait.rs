//! Waiting for something that happens elsewhere, never for ever.

use std::time::{Duration, Instant};

/// How often a condition is looked at.
const LOOK: Duration = Duration::from_millis(10);

/// Asks until the answer is true; `seen` says what there is when the time is over.
#[track_caller]
pub(crate) fn wait_until(
    what: &str,
    limit: Duration,
    mut condition: impl FnMut() -> bool,
    seen: impl FnOnce() -> String,
) -> Duration {
    let started = Instant::now();
    while !condition() {
        assert!(started.elapsed() < limit, "not within {limit:?}: {what}\n{}", seen());
        std::thread::sleep(LOOK);
    }
    started.elapsed()
}

/// As [`wait_until`], for conditions that are awaited. Returns how long it took.
pub(crate) async fn until<S: AsyncFnOnce() -> String>(
    what: &str,
    limit: Duration,
    mut condition: impl AsyncFnMut() -> bool,
    seen: S,
) -> Duration {
    let started = Instant::now();
    while !condition().await {
        if started.elapsed() >= limit {
            panic!("not within {limit:?}: {what}\n{}", seen().await);
        }
        tokio::time::sleep(LOOK).await;
    }
    started.elapsed()
}
