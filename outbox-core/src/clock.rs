//! Time as the framework sees it: milliseconds, from a clock that tests can move.

use std::fmt;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

/// A moment in milliseconds since the Unix epoch: what the tables hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The last moment that can be stored: the end of the year 9999, the last that RFC 3339 can print.
    pub const MAX: Timestamp = Timestamp(253_402_300_799_999);

    /// From milliseconds since the epoch.
    #[must_use]
    pub const fn from_millis(millis: i64) -> Self {
        Self(millis)
    }

    /// Milliseconds since the epoch, negative before 1970.
    #[must_use]
    pub const fn as_millis(self) -> i64 {
        self.0
    }

    /// This moment `duration` later, at most [`Timestamp::MAX`].
    #[must_use]
    pub fn after(self, duration: Duration) -> Self {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Self(self.0.saturating_add(millis).min(Self::MAX.0))
    }

    /// This moment `duration` earlier.
    #[must_use]
    pub fn before(self, duration: Duration) -> Self {
        let millis = i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        Self(self.0.saturating_sub(millis))
    }

    /// The time from `earlier` to this moment, zero when that lies in the future.
    #[must_use]
    pub fn since(self, earlier: Timestamp) -> Duration {
        Duration::from_millis(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl From<SystemTime> for Timestamp {
    fn from(time: SystemTime) -> Self {
        let millis = |duration: Duration| i64::try_from(duration.as_millis()).unwrap_or(i64::MAX);
        match time.duration_since(UNIX_EPOCH) {
            Ok(after) => Self(millis(after)),
            Err(before) => Self(-millis(before.duration())),
        }
    }
}

impl From<Timestamp> for SystemTime {
    fn from(time: Timestamp) -> Self {
        let magnitude = Duration::from_millis(time.0.unsigned_abs());
        let moment =
            if time.0 < 0 { UNIX_EPOCH.checked_sub(magnitude) } else { UNIX_EPOCH.checked_add(magnitude) };
        moment.unwrap_or(UNIX_EPOCH)
    }
}

/// RFC 3339 in UTC with milliseconds; a moment outside the years 1970 to 9999 as its number of milliseconds.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if (0..=Self::MAX.0).contains(&self.0) {
            humantime::format_rfc3339_millis(SystemTime::from(*self)).fmt(f)
        } else {
            write!(f, "{} ms since 1970", self.0)
        }
    }
}

/// Where the framework takes the time from, and how it waits.
///
/// Applications use [`SystemClock`] without knowing; tests pass a [`ManualClock`] and move it instead of sleeping.
#[async_trait::async_trait]
pub trait Clock: Send + Sync + fmt::Debug + 'static {
    /// The present moment on the wall clock, which may be set back.
    fn now(&self) -> Timestamp;

    /// Time that has passed since some fixed moment. Never goes back, whatever happens to [`now`](Clock::now).
    fn passed(&self) -> Duration;

    /// Returns once `duration` has passed on this clock. Not affected by a system clock that is set back.
    async fn sleep(&self, duration: Duration);
}

/// A shared clock.
pub type SharedClock = Arc<dyn Clock>;

/// The clock of the operating system.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

#[async_trait::async_trait]
impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        SystemTime::now().into()
    }

    fn passed(&self) -> Duration {
        static START: LazyLock<Instant> = LazyLock::new(Instant::now);
        START.elapsed()
    }

    async fn sleep(&self, duration: Duration) {
        tokio::time::sleep(duration).await;
    }
}

/// A clock that stands still until a test moves it.
///
/// Clones show the same time.
///
/// ```
/// use std::time::Duration;
/// use outbox_core::{Clock, ManualClock};
///
/// let clock = ManualClock::new();
/// let before = clock.now();
/// clock.advance(Duration::from_secs(60));
/// assert_eq!(clock.now().since(before), Duration::from_secs(60));
/// ```
#[derive(Debug, Clone)]
pub struct ManualClock {
    // The wall clock, which a test may set back, and the time that has passed, which only grows.
    state: Arc<watch::Sender<(Timestamp, Duration)>>,
}

impl ManualClock {
    /// A clock that shows the present second, so that rows look plausible.
    #[must_use]
    pub fn new() -> Self {
        let now = Timestamp::from(SystemTime::now());
        Self::starting_at(Timestamp::from_millis(now.as_millis() / 1000 * 1000))
    }

    /// A clock that shows `start`.
    #[must_use]
    pub fn starting_at(start: Timestamp) -> Self {
        Self { state: Arc::new(watch::Sender::new((start, Duration::ZERO))) }
    }

    /// Moves the clock forward and wakes every sleeper whose time has come.
    pub fn advance(&self, by: Duration) {
        self.state.send_modify(|(wall, passed)| {
            *wall = wall.after(by);
            *passed += by;
        });
    }

    /// Sets the wall clock, also backwards. No time passes: sleepers go on sleeping.
    pub fn set(&self, wall: Timestamp) {
        self.state.send_modify(|state| state.0 = wall);
    }
}

impl Default for ManualClock {
    fn default() -> Self {
        Self::new()
    }
}

#[async_trait::async_trait]
impl Clock for ManualClock {
    fn now(&self) -> Timestamp {
        self.state.borrow().0
    }

    fn passed(&self) -> Duration {
        self.state.borrow().1
    }

    async fn sleep(&self, duration: Duration) {
        let mut receiver = self.state.subscribe();
        let until = receiver.borrow().1.saturating_add(duration);
        // The sender lives as long as this clock, so waiting cannot fail.
        let _ = receiver.wait_for(|(_, passed)| *passed >= until).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prints_moments_in_rfc_3339_and_odd_ones_as_numbers() {
        assert_eq!(Timestamp::from_millis(1_500).to_string(), "1970-01-01T00:00:01.500Z");
        assert_eq!(Timestamp::MAX.to_string(), "9999-12-31T23:59:59.999Z");
        assert_eq!(Timestamp::from_millis(-1).to_string(), "-1 ms since 1970");
        assert_eq!(Timestamp::from_millis(i64::MAX).to_string(), format!("{} ms since 1970", i64::MAX));
    }

    #[test]
    fn moments_before_1970_survive_the_way_through_system_time() {
        let before = Timestamp::from_millis(-86_400_000);
        assert_eq!(Timestamp::from(SystemTime::from(before)), before);
    }

    #[test]
    fn adding_saturates_at_the_last_moment() {
        assert_eq!(Timestamp::from_millis(0).after(Duration::MAX), Timestamp::MAX);
        assert_eq!(Timestamp::from_millis(5).since(Timestamp::from_millis(9)), Duration::ZERO);
    }

    #[tokio::test]
    async fn a_sleeper_wakes_when_its_time_has_passed_even_if_the_wall_clock_was_set_back() {
        let clock = ManualClock::new();
        let sleeping = tokio::spawn({
            let clock = clock.clone();
            async move { clock.sleep(Duration::from_secs(10)).await }
        });
        tokio::task::yield_now().await;
        clock.set(Timestamp::from_millis(0));
        clock.advance(Duration::from_secs(9));
        tokio::task::yield_now().await;
        assert!(!sleeping.is_finished());
        clock.advance(Duration::from_secs(1));
        sleeping.await.unwrap();
    }
}
