//! One suite of behaviour for every backend: what a bus, a ledger and their administration owe to those who rely on
//! them.
//!
//! A backend says how it is opened ([`Backend`]) and runs the suite with
//! [`conformance_tests!`](crate::conformance_tests), which makes one test of each case:
//!
//! ```
//! # use std::sync::Arc;
//! # use std::time::Duration;
//! # use outbox_core::testing::conformance::Backend;
//! # use outbox_core::*;
//! struct Memory(MemoryOutbox);
//!
//! #[async_trait]
//! impl Backend for Memory {
//!     async fn open(clock: ManualClock, lease: Duration) -> Self {
//!         Self(MemoryOutbox::new().with_clock(Arc::new(clock)).with_lease(lease))
//!     }
//!     fn bus(&self) -> Arc<dyn Bus> { Arc::new(self.0.bus()) }
//!     fn ledger(&self) -> Arc<dyn Ledger> { Arc::new(self.0.ledger()) }
//!     fn admin(&self) -> Arc<dyn Admin> { Arc::new(self.0.admin()) }
//!     async fn enqueue_all(&self, events: Vec<NewEvent>) -> Result<Vec<Enqueued>, EnqueueError> {
//!         self.0.enqueue_all(events).await
//!     }
//!     async fn insert_foreign(&self, event_type: &str, payload: &str) {
//!         self.0.insert_foreign(event_type, payload);
//!     }
//! }
//!
//! outbox_core::conformance_tests!(Memory);
//! # fn main() {}
//! ```
//!
//! Cases work at the level of bus and ledger, with workers in their own hands, and move a [`ManualClock`] instead of
//! waiting. Each is documented with what it proves.

pub mod claims;
pub mod dead_letters;
pub mod delivery;
pub mod foreign;
mod hand_worker;
pub mod handlers;
pub mod histories;
mod list;
pub mod order;
pub mod retention;
pub mod retries;
pub mod status;
pub mod unhandled;
mod world;

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

pub use self::world::World;
use crate::{Admin, Bus, EnqueueError, Enqueued, Ledger, ManualClock, NewEvent};

/// How a backend is opened and written to.
#[async_trait]
pub trait Backend: Send + Sync + 'static {
    /// A fresh, empty store of its own that takes the time from `clock`, and whose bus leaves a received event for
    /// `lease` in a worker's hands.
    async fn open(clock: ManualClock, lease: Duration) -> Self
    where
        Self: Sized;

    /// A bus for one more worker.
    fn bus(&self) -> Arc<dyn Bus>;

    /// The ledger.
    fn ledger(&self) -> Arc<dyn Ledger>;

    /// The administration.
    fn admin(&self) -> Arc<dyn Admin>;

    /// Enqueues events, in order, and commits.
    async fn enqueue_all(&self, events: Vec<NewEvent>) -> Result<Vec<Enqueued>, EnqueueError>;

    /// Writes an event as a program that does not know the framework does: its type and payload, and no more.
    async fn insert_foreign(&self, event_type: &str, payload: &str);

    /// Cases that this backend cannot have, with the reason, which the test prints: `("foreign::…", "no table")`. A
    /// theme's name alone (`"foreign"`) stands for all of its cases.
    fn exempt() -> &'static [(&'static str, &'static str)]
    where
        Self: Sized,
    {
        &[]
    }
}

/// How long a case may take. None waits for time to pass, so this only bounds what hangs.
const LIMIT: Duration = Duration::from_secs(60);

/// How long a received event stays in a worker's hands, in every case.
const ROW_LEASE: Duration = Duration::from_secs(60);

/// Runs one case in a fresh store.
///
/// # Panics
///
/// When the backend breaks the rule that the case stands for, or hangs.
#[allow(clippy::print_stderr, reason = "an exemption is told where the test's result is")]
pub fn check<B, C, F>(name: &str, case: C)
where
    B: Backend,
    C: FnOnce(World) -> F,
    F: Future<Output = ()>,
{
    let theme = name.split("::").next();
    if let Some((_, reason)) =
        B::exempt().iter().find(|(exempt, _)| *exempt == name || Some(*exempt) == theme)
    {
        eprintln!("{name} does not apply: {reason}");
        return;
    }
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    runtime.expect("a runtime for the test").block_on(async {
        let clock = ManualClock::new();
        let backend = B::open(clock.clone(), ROW_LEASE).await;
        let bounded = tokio::time::timeout(LIMIT, case(World::new(clock, Box::new(backend)))).await;
        assert!(bounded.is_ok(), "{name} hangs: not finished after {LIMIT:?}");
    });
}
