//! Random numbers that can be repeated.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

/// The generator SplitMix64 (Steele, Lea, Flood 2014): small, and good enough to choose moments.
pub(crate) struct Chance {
    state: u64,
}

impl Chance {
    /// Seeded by the variable `OUTBOX_TEST_SEED`, or anew each time; says which, so that a failure can be repeated.
    #[allow(clippy::print_stdout, reason = "the test harness shows it if the test fails")]
    pub(crate) fn new() -> Self {
        let given = std::env::var("OUTBOX_TEST_SEED").ok();
        let given = given.map(|text| text.parse().expect("OUTBOX_TEST_SEED is a whole number"));
        let state = given.unwrap_or_else(|| RandomState::new().hash_one("seed"));
        println!("OUTBOX_TEST_SEED={state}");
        Self { state }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.next() % end
    }

    /// A time up to `longest`, short ones as often as long ones on a logarithmic scale, from a hundredth of it on.
    pub(crate) fn time_up_to(&mut self, longest: Duration) -> Duration {
        let exponent = self.below(1_000) as f64 / 1_000.0;
        longest.mul_f64(0.01_f64.powf(exponent))
    }
}
