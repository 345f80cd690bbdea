//! Trying again for a bounded time while another connection is in the way.

use std::time::Duration;

/// Five tries altogether, with pauses of 100 ms to 1 s in between.
///
/// For what SQLite's own busy timeout does not cover: it is the application's setting and may be zero, and taking a
/// file into WAL mode ignores it.
#[derive(Debug)]
pub(crate) struct BusyRetry {
    tries_left: u32,
    pause: Duration,
}

const TRIES: u32 = 5;
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);

impl BusyRetry {
    pub(crate) fn new() -> Self {
        Self { tries_left: TRIES - 1, pause: FIRST_PAUSE }
    }

    /// Sleeps before the next try; `false` when there is none left.
    pub(crate) async fn again(&mut self) -> bool {
        if self.tries_left == 0 {
            return false;
        }
        self.tries_left -= 1;
        tokio::time::sleep(self.pause).await;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn tries_five_times_within_the_documented_pauses() {
        let start = tokio::time::Instant::now();
        let mut retry = BusyRetry::new();
        let mut tries = 1;
        while retry.again().await {
            tries += 1;
        }
        assert_eq!(tries, 5);
        assert_eq!(start.elapsed(), Duration::from_millis(100 + 200 + 400 + 800));
    }
}
