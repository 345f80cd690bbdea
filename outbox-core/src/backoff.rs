//! The schedule of retries.

use std::time::Duration;

/// Delays that double from `base` up to `cap`: 5, 10, 20, 40, 80, 160, 300, 300, … seconds by default. No jitter: two
/// failing events of one handler rarely share a moment, and an exact schedule can be foretold.
///
/// ```
/// use std::time::Duration;
/// use outbox_core::Backoff;
///
/// let backoff = Backoff::default();
/// assert_eq!(backoff.delay(1), Duration::from_secs(5));
/// assert_eq!(backoff.delay(7), Duration::from_secs(300));
/// assert_eq!(backoff.delay(u32::MAX), Duration::from_secs(300));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// Delay after the first failure.
    pub base: Duration,
    /// What no delay exceeds, however many failures there were.
    pub cap: Duration,
}

impl Default for Backoff {
    fn default() -> Self {
        Self { base: Duration::from_secs(5), cap: Duration::from_secs(300) }
    }
}

impl Backoff {
    /// The delay after the `failures`-th failure, counted from 1.
    #[must_use]
    pub fn delay(&self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1);
        let factor = 1_u32.checked_shl(doublings).filter(|_| doublings < 32).unwrap_or(u32::MAX);
        self.base.saturating_mul(factor).min(self.cap)
    }

    /// The sum of the delays of `attempts` attempts: how long a handler is retried at most, without its own run time.
    #[must_use]
    pub fn horizon(&self, attempts: u32) -> Duration {
        // After 33 doublings every delay equals the cap or the saturated maximum, so the rest is a product.
        let exact = attempts.saturating_sub(1).min(33);
        let start: Duration =
            (1..=exact).map(|n| self.delay(n)).fold(Duration::ZERO, Duration::saturating_add);
        start.saturating_add(self.delay(u32::MAX).saturating_mul(attempts.saturating_sub(1) - exact))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_up_to_the_cap_and_stays_there_for_any_number_of_failures() {
        let seconds: Vec<u64> = (1..=8).map(|n| Backoff::default().delay(n).as_secs()).collect();
        assert_eq!(seconds, [5, 10, 20, 40, 80, 160, 300, 300]);
        for failures in [31, 32, 33, 34, 63, 64, 65, 1_000, u32::MAX] {
            assert_eq!(Backoff::default().delay(failures).as_secs(), 300, "{failures}");
        }
    }

    #[test]
    fn a_small_base_never_falls_below_itself() {
        let backoff = Backoff { base: Duration::from_millis(1), cap: Duration::from_millis(60) };
        for failures in 0..200 {
            let delay = backoff.delay(failures);
            assert!(delay >= backoff.base && delay <= backoff.cap, "{failures}: {delay:?}");
        }
    }

    #[test]
    fn the_horizon_is_the_sum_of_all_delays() {
        let backoff = Backoff::default();
        assert_eq!(backoff.horizon(1), Duration::ZERO);
        assert_eq!(backoff.horizon(4), Duration::from_secs(35));
        assert_eq!(backoff.horizon(10), Duration::from_secs(315 + 3 * 300));
        assert_eq!(backoff.horizon(1_000), Duration::from_secs(315 + 993 * 300));
    }
}
