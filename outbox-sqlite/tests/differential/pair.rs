//! Both stores side by side: every step is taken on both, and both must answer alike.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::future::Future;
use std::sync::Arc;

use outbox_core::testing::conformance::Backend;
use outbox_core::{
    Bus, ClaimToken, Clock, EventId, EventState, ManualClock, MemoryOutbox, Status, Subscription, Timestamp,
    TypeCount, WaitReason,
};
use proptest::test_runner::TestCaseError;

use crate::backend::Sqlite;
use crate::plan::ROW_LEASE;
use crate::side::{Delivered, Delivery, Number, Seen, Side, Stage};

pub(crate) type Outcome<T = ()> = Result<T, TestCaseError>;

/// The two stores.
pub(crate) struct Pair {
    pub(crate) clock: ManualClock,
    pub(crate) memory: Side,
    pub(crate) sqlite: Side,
    /// How many events were ever written.
    pub(crate) events: Number,
}

/// A worker's place in the buses of both sides, and what it has.
#[derive(Debug, Clone)]
pub(crate) struct Member {
    pub(crate) bus: usize,
    pub(crate) subscription: Subscription,
}

/// A delivery, as both made it.
#[derive(Debug, Clone)]
pub(crate) struct Hand {
    pub(crate) bus: usize,
    pub(crate) delivered: Delivered,
    pub(crate) memory: Delivery,
    pub(crate) sqlite: Delivery,
    pub(crate) settled: bool,
}

/// Fails the history unless both say the same.
pub(crate) fn same<T: PartialEq + Debug>(what: impl Debug, memory: &T, sqlite: &T) -> Outcome {
    if memory == sqlite {
        return Ok(());
    }
    Err(TestCaseError::fail(format!("{what:?}\n  memory: {memory:?}\n  sqlite: {sqlite:?}")))
}

/// Fails the history with these words unless `holds`.
pub(crate) fn check(holds: bool, words: impl FnOnce() -> String) -> Outcome {
    if holds { Ok(()) } else { Err(TestCaseError::fail(words())) }
}

impl Pair {
    pub(crate) async fn open() -> Self {
        let clock = ManualClock::starting_at(Timestamp::from_millis(1_000_000_000));
        let memory =
            MemoryBackend(MemoryOutbox::new().with_clock(Arc::new(clock.clone())).with_lease(ROW_LEASE));
        let sqlite = Sqlite::open(clock.clone(), ROW_LEASE).await;
        Self { clock, memory: Side::new(memory), sqlite: Side::new(sqlite), events: 0 }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Whether both have told the id of an event.
    pub(crate) fn knows(&self, number: Number) -> bool {
        self.memory.id(number).is_some() && self.sqlite.id(number).is_some()
    }

    /// A bus of its own for a worker, on both sides.
    pub(crate) async fn subscribe(&mut self, subscription: Subscription) -> Member {
        for side in [&mut self.memory, &mut self.sqlite] {
            let bus = side.backend.bus();
            bus.subscribe(subscription.clone()).await.expect("subscribed");
            side.buses.push(bus);
        }
        Member { bus: self.memory.buses.len() - 1, subscription }
    }

    /// The same call to a worker's bus on both sides.
    pub(crate) async fn on_bus<T, F>(&self, bus: usize, call: impl Fn(Arc<dyn Bus>) -> F) -> (T, T)
    where
        F: Future<Output = T>,
    {
        let memory = call(Arc::clone(&self.memory.buses[bus])).await;
        (memory, call(Arc::clone(&self.sqlite.buses[bus])).await)
    }

    /// What a worker receives. It must be the same events and claims, though the order of such as are due may differ. So of
    /// more than fit in `max`, each store may choose others; then both go their own ways from here, and `None` is returned.
    pub(crate) async fn receive(&mut self, member: &Member, max: usize) -> Outcome<Option<Vec<Hand>>> {
        let now = self.now();
        let (memory, sqlite) =
            self.on_bus(member.bus, |bus| async move { bus.receive(max).await.expect("received") }).await;
        let (memory, sqlite) = (self.memory.take_in(memory, now)?, self.sqlite.take_in(sqlite, now)?);
        let runs = |side: &[(Delivered, Delivery)]| {
            side.iter().map(|(delivered, _)| delivered.runs()).sum::<usize>()
        };
        check(runs(&memory).max(runs(&sqlite)) <= max, || {
            format!("more than {max} runs: {memory:?}, {sqlite:?}")
        })?;
        let of =
            |side: &[(Delivered, Delivery)]| side.iter().map(|(delivered, _)| delivered.clone()).collect();
        let (left, right): (Vec<_>, Vec<_>) = (of(&memory), of(&sqlite));
        // SQLite may look at rows in vain, and so bring fewer than there is room for, but not nothing.
        if left != right && runs(&memory) == max && runs(&sqlite) > 0 {
            return Ok(None);
        }
        same("received", &left, &right)?;
        let hands = memory.into_iter().zip(sqlite).map(|((delivered, memory), (_, sqlite))| Hand {
            bus: member.bus,
            delivered,
            memory,
            sqlite,
            settled: false,
        });
        Ok(Some(hands.collect()))
    }

    /// Compares all that can be seen of the stores.
    pub(crate) async fn compare(&mut self) -> Outcome {
        same("dead letters", &self.memory.letters().await, &self.sqlite.letters().await)?;
        let mut is_due_unclear = false;
        for number in (0..self.events).filter(|number| self.knows(*number)) {
            is_due_unclear |= self.compare_event(number).await?;
        }
        self.compare_status(is_due_unclear).await?;
        let listed = async |side: &Side| {
            let mut listed = side.admin.handlers().await.expect("listed");
            listed.sort_by(|a, b| (&a.handler, &a.event_type).cmp(&(&b.handler, &b.event_type)));
            listed
        };
        same("listed handlers", &listed(&self.memory).await, &listed(&self.sqlite).await)
    }

    /// Compares what both show of an event. Returns whether they may differ in when it is due: SQLite counts an event that no
    /// worker has in hand, and that a handler runs on all the same, as due when that lease ends, also where other handlers
    /// are due before; and it does not know who knows which version.
    async fn compare_event(&self, number: Number) -> Outcome<bool> {
        let now = self.now();
        let see = async |side: &Side| match side.id(number) {
            Some(id) => side.see(id, now).await.unzip(),
            None => (None, None),
        };
        let (memory, memory_waits) = see(&self.memory).await;
        let (sqlite, sqlite_waits) = see(&self.sqlite).await;
        same(format!("event {number}"), &memory, &sqlite)?;
        let (one, other) = (memory_waits.flatten(), sqlite_waits.flatten());
        let may_say = memory.as_ref().is_none_or(|seen| may_say(&one, &other, seen));
        check(may_say, || format!("event {number} waits for {other:?} by SQLite, for {one:?} by memory"))?;
        let is_waiting = |seen: &Seen| seen.state == Some(EventState::Pending);
        Ok(memory.is_some_and(|seen| is_waiting(&seen) && (seen.is_run() || seen.version > 1)))
    }

    async fn compare_status(&self, is_due_unclear: bool) -> Outcome {
        let memory = self.memory.admin.status().await.expect("told");
        let sqlite = self.sqlite.admin.status().await.expect("told");
        let counts = |status: &Status| -> BTreeSet<_> {
            let count = |c: &TypeCount| (c.event_type.clone(), c.state, c.events, c.oldest);
            status.counts.iter().map(count).collect()
        };
        same("status: counts", &counts(&memory), &counts(&sqlite))?;
        same("status: dead letters", &memory.dead_letters, &sqlite.dead_letters)?;
        if is_due_unclear { Ok(()) } else { same("status: oldest", &memory.oldest, &sqlite.oldest) }
    }
}

/// SQLite learns what a row waits for when a worker looks at it in vain, so it may not know yet; and it does not keep
/// which versions handlers know, so a handler that has not begun may stand for its version or its key. Whatever it says
/// must not mislead.
fn may_say(memory: &Option<WaitReason>, sqlite: &Option<WaitReason>, seen: &Seen) -> bool {
    match sqlite {
        None | Some(WaitReason::Version { .. }) => true,
        Some(WaitReason::Handler(name)) => {
            seen.handlers.get(name).is_some_and(|progress| progress.stage == Stage::NotBegun)
        }
        // Both may hold; or one handler waits for its key, and the others for the version.
        Some(WaitReason::Key) => {
            matches!(memory, Some(WaitReason::Key | WaitReason::Version { .. })) || seen.version > 1
        }
        told => told == memory,
    }
}

impl Hand {
    pub(crate) fn handlers(&self) -> usize {
        self.delivered.claims.as_ref().map_or(0, Vec::len)
    }

    /// The claim of a handler, on each side.
    pub(crate) fn tokens(&self, claim: usize) -> Option<(&ClaimToken, &ClaimToken)> {
        let memory = self.memory.claims.as_ref()?.get(claim)?;
        Some((memory, self.sqlite.claims.as_ref()?.get(claim)?))
    }

    pub(crate) fn event(&self) -> Number {
        self.delivered.number
    }
}

/// The reference, as the suite of behaviour opens it.
struct MemoryBackend(MemoryOutbox);

#[outbox_core::async_trait]
impl Backend for MemoryBackend {
    async fn open(clock: ManualClock, lease: std::time::Duration) -> Self {
        Self(MemoryOutbox::new().with_clock(Arc::new(clock)).with_lease(lease))
    }

    fn bus(&self) -> Arc<dyn Bus> {
        Arc::new(self.0.bus())
    }

    fn ledger(&self) -> Arc<dyn outbox_core::Ledger> {
        Arc::new(self.0.ledger())
    }

    fn admin(&self) -> Arc<dyn outbox_core::Admin> {
        Arc::new(self.0.admin())
    }

    async fn enqueue_all(
        &self,
        events: Vec<outbox_core::NewEvent>,
    ) -> Result<Vec<outbox_core::Enqueued>, outbox_core::EnqueueError> {
        self.0.enqueue_all(events).await
    }

    async fn insert_foreign(&self, event_type: &str, payload: &str) {
        self.0.insert_foreign(event_type, payload);
    }
}

/// The id of an event that the history writes itself.
pub(crate) fn id_of(number: Number) -> EventId {
    EventId::from(uuid::Uuid::from_u128(0x0197_0000_0000_7000_8000_0000_0000_0000 + number as u128))
}
