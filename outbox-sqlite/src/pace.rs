//! How much of the time the lock is left to others.

use std::time::{Duration, Instant};

/// Keeps the lock free for a part of the time while others write, too, and there is more to write than time.
///
/// SQLite has no queue for its lock: a connection that waits for it looks again after pauses of up to 100 ms, and gets it
/// only if it is free at that moment. A worker that drains a backlog takes it again within microseconds, and an
/// application that writes beside it would wait for seconds, or be told that the database is locked. The gate orders our
/// own writers only; this is for the others, in this process and elsewhere.
#[derive(Debug)]
pub(crate) struct Pace {
    /// Time for which the lock is still to be left free.
    owed: Duration,
    /// Since when it is free.
    free_since: Instant,
    /// What `PRAGMA data_version` was on the write connection, for which only commits of others count.
    version: Option<i64>,
    looked_at: Option<Instant>,
    others_seen_at: Option<Instant>,
}

/// Of the time that it is held, the lock is then left free for a third: it is free for a quarter of the time.
const SHARE: u32 = 3;
/// Pauses are not shorter than a timer can make them: what is owed is collected until then.
const SHORTEST: Duration = Duration::from_millis(1);
/// After a long transaction, others have had their turn by then.
const LONGEST: Duration = Duration::from_millis(20);
/// How often to look whether others write.
const LOOK: Duration = Duration::from_millis(50);
/// For how long to expect more of them. While nobody else writes, nothing is waited for.
const MEMORY: Duration = Duration::from_secs(60);

impl Pace {
    pub(crate) fn new(now: Instant) -> Self {
        Self { owed: Duration::ZERO, free_since: now, version: None, looked_at: None, others_seen_at: None }
    }

    /// Whether it is time to look at the version again.
    pub(crate) fn wants_version(&self, now: Instant) -> bool {
        self.looked_at.is_none_or(|at| now.saturating_duration_since(at) >= LOOK)
    }

    /// What the version is now; `None` if the connection is a new one, whose versions cannot be compared.
    pub(crate) fn saw_version(&mut self, version: Option<i64>, now: Instant) {
        if self.version.is_some() && version.is_some() && self.version != version {
            self.others_seen_at = Some(now);
        }
        self.version = version;
        self.looked_at = version.map(|_| now);
    }

    /// How long to wait before the lock is taken again.
    pub(crate) fn pause(&self, now: Instant) -> Option<Duration> {
        let others = self.others_seen_at.is_some_and(|at| now.saturating_duration_since(at) < MEMORY);
        let left = self.owed.saturating_sub(now.saturating_duration_since(self.free_since));
        (others && left >= SHORTEST).then_some(left)
    }

    /// The lock was held from `taken` to now.
    pub(crate) fn held(&mut self, taken: Instant, now: Instant) {
        let was_free = taken.saturating_duration_since(self.free_since);
        let held = now.saturating_duration_since(taken);
        self.owed = (self.owed.saturating_sub(was_free) + held / SHARE).min(LONGEST);
        self.free_since = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    /// One that has just seen somebody else's commit.
    fn contended(now: Instant) -> Pace {
        let mut pace = Pace::new(now);
        pace.saw_version(Some(1), now);
        pace.saw_version(Some(2), now);
        pace
    }

    /// How much of three seconds of transactions without a break is left free.
    fn free_time(mut pace: Pace, start: Instant) -> Duration {
        let (mut now, mut free) = (start, Duration::ZERO);
        while now - start < 3_000 * MS {
            if let Some(pause) = pace.pause(now) {
                free += pause;
                now += pause;
            }
            pace.held(now, now + MS / 4);
            now += MS / 4;
        }
        free
    }

    #[test]
    fn a_stream_of_transactions_leaves_the_lock_free_for_a_quarter_of_the_time_if_others_write() {
        let now = Instant::now();
        let free = free_time(contended(now), now);
        assert!(free > 700 * MS && free < 800 * MS, "{free:?}");
    }

    #[test]
    fn nothing_is_left_free_for_nobody() {
        let now = Instant::now();
        let mut alone = Pace::new(now);
        alone.saw_version(Some(1), now);
        alone.saw_version(Some(1), now + LOOK);
        assert_eq!(free_time(alone, now), Duration::ZERO);
        assert_eq!(free_time(contended(now), now + MEMORY), Duration::ZERO);
        let mut reopened = contended(now);
        reopened.others_seen_at = None;
        reopened.saw_version(None, now);
        reopened.saw_version(Some(9), now);
        assert_eq!(free_time(reopened, now), Duration::ZERO);
    }

    #[test]
    fn what_is_written_now_and_then_waits_for_nothing() {
        let mut now = Instant::now();
        let mut pace = contended(now);
        for _ in 0..100 {
            assert_eq!(pace.pause(now), None);
            pace.held(now, now + 2 * MS);
            now += 3 * MS;
        }
    }

    #[test]
    fn a_long_transaction_is_not_paid_for_with_a_long_pause() {
        let now = Instant::now();
        let mut pace = contended(now);
        pace.held(now, now + 5_000 * MS);
        assert_eq!(pace.pause(now + 5_000 * MS), Some(LONGEST));
        assert_eq!(pace.pause(now + 5_100 * MS), None);
    }
}
