//! What may happen to a store, in any order: the steps that are drawn at random.

use std::time::Duration;

use outbox_core::{OnDead, SubscribedHandler, Unhandled};
use proptest::collection::vec;
use proptest::prelude::*;

/// Types of events. A pattern spans the first two.
pub(crate) const TYPES: [&str; 3] = ["movie.added", "movie.removed", "review"];

/// The handlers that workers may have: name and event type or pattern.
pub(crate) const HANDLERS: [(&str, &str); 6] = [
    ("poster", "movie.added"),
    ("search", "movie.added"),
    ("movies", "movie.*"),
    ("cleanup", "movie.removed"),
    ("mail", "review"),
    ("score", "review"),
];

/// For how long a row stays in a worker's hands.
pub(crate) const ROW_LEASE: Duration = Duration::from_secs(60);

/// One history: who works, and what happens.
#[derive(Debug, Clone)]
pub(crate) struct Plan {
    /// Which of [`HANDLERS`] block their key when they give up.
    pub(crate) blocking: [bool; HANDLERS.len()],
    pub(crate) staffs: Vec<Staff>,
    pub(crate) steps: Vec<Step>,
}

/// The handlers of one worker.
#[derive(Debug, Clone)]
pub(crate) struct Staff(pub(crate) Vec<Skill>);

/// One handler, as one worker has it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Skill {
    /// Place in [`HANDLERS`].
    pub(crate) handler: usize,
    pub(crate) max_version: u32,
    pub(crate) max_attempts: u32,
    pub(crate) lease_s: u64,
}

/// Something that happens. Numbers of workers, deliveries and events are taken modulo how many there are; deliveries
/// and events are counted from the newest.
#[derive(Debug, Clone)]
pub(crate) enum Step {
    Enqueue(Vec<Sketch>),
    Foreign {
        event_type: usize,
    },
    Receive {
        worker: usize,
        max: usize,
    },
    /// A worker ends runs of a delivery that it has not settled, in one of the usual ways.
    Finish {
        delivery: usize,
        endings: Vec<Ending>,
        settled: Settled,
    },
    /// Somebody speaks for a claim, perhaps too late, perhaps again.
    Mark {
        delivery: usize,
        claim: usize,
        ending: Ending,
    },
    /// Somebody settles deliveries, perhaps too late, perhaps again.
    Settle {
        deliveries: Vec<usize>,
        verdict: Verdict,
    },
    Extend {
        delivery: usize,
    },
    Renew {
        delivery: usize,
        claim: usize,
    },
    Pass {
        ms: u64,
    },
    /// The clock moves to just before the moment that a worker's bus foretells, then to that moment.
    AwaitDue {
        worker: usize,
    },
    /// A worker of other handlers takes a worker's place.
    Deploy {
        worker: usize,
        staff: Staff,
    },
    /// A worker asks for claims of an event that another transport brought.
    ClaimElsewhere {
        worker: usize,
        event: usize,
    },
    Redrive(Dead),
    Discard(Dead),
    Forget {
        handler: usize,
    },
    Prune {
        kept_s: u64,
    },
    Maintain {
        worker: usize,
        unhandled: Unhandled,
        kept_s: u64,
    },
}

/// An event to be written.
#[derive(Debug, Clone)]
pub(crate) struct Sketch {
    pub(crate) event_type: usize,
    pub(crate) key: Option<&'static str>,
    pub(crate) delay_s: u64,
    pub(crate) version: u32,
    /// Takes the id of an event that is there.
    pub(crate) repeats: Option<usize>,
}

/// How a run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Done,
    Fail {
        pause_s: u64,
    },
    GiveBack,
    Bury,
    /// The worker says nothing more of it.
    Lost,
}

/// When a delivery is settled, compared with the marks of its runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Settled {
    After,
    Before,
    /// As a worker does it: sent together with the marks, so that all of it may fit in one transaction.
    Along,
    Never,
}

/// What a delivery is settled as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    Done,
    Retry { pause_s: u64 },
    Defer { pause_s: u64 },
    Dead,
}

/// Which dead letters an operator means.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Dead {
    All,
    OfHandler(usize),
    OfType(usize),
    OfEvent(usize),
    For { seconds: u64 },
}

impl Skill {
    pub(crate) fn subscribed(self, blocking: &[bool; HANDLERS.len()]) -> SubscribedHandler {
        let (name, event_type) = HANDLERS[self.handler];
        SubscribedHandler {
            name: name.into(),
            event_type: event_type.into(),
            max_version: self.max_version,
            max_attempts: self.max_attempts,
            lease: Duration::from_secs(self.lease_s),
            on_dead: if blocking[self.handler] { OnDead::Block } else { OnDead::Continue },
        }
    }
}

pub(crate) fn plan(steps: usize) -> impl Strategy<Value = Plan> {
    (any::<[bool; HANDLERS.len()]>(), vec(staff(), 1..=3), vec(step(), 1..=steps))
        .prop_map(|(blocking, staffs, steps)| Plan { blocking, staffs, steps })
}

fn staff() -> impl Strategy<Value = Staff> {
    let skill = (1..=3_u32, 1..=3_u32, prop_oneof![Just(60_u64), Just(20), Just(200)]);
    let names = proptest::sample::subsequence((0..HANDLERS.len()).collect::<Vec<_>>(), 1..=HANDLERS.len());
    (names, vec(skill, HANDLERS.len())).prop_map(|(names, skills)| {
        let skill = |handler: usize| {
            let (max_version, max_attempts, lease_s) = skills[handler];
            Skill { handler, max_version, max_attempts, lease_s }
        };
        Staff(names.into_iter().map(skill).collect())
    })
}

fn step() -> impl Strategy<Value = Step> {
    let worker = 0..4_usize;
    let delivery = 0..8_usize;
    prop_oneof![
        14 => vec(sketch(), 1..=3).prop_map(Step::Enqueue),
        2 => (0..TYPES.len()).prop_map(|event_type| Step::Foreign { event_type }),
        22 => (worker.clone(), max()).prop_map(|(worker, max)| Step::Receive { worker, max }),
        22 => (delivery.clone(), vec(ending(), 4), settled())
            .prop_map(|(delivery, endings, settled)| Step::Finish { delivery, endings, settled }),
        4 => (delivery.clone(), 0..4_usize, ending())
            .prop_map(|(delivery, claim, ending)| Step::Mark { delivery, claim, ending }),
        4 => (vec(delivery.clone(), 1..=3), verdict())
            .prop_map(|(deliveries, verdict)| Step::Settle { deliveries, verdict }),
        2 => delivery.clone().prop_map(|delivery| Step::Extend { delivery }),
        2 => (delivery, 0..4_usize).prop_map(|(delivery, claim)| Step::Renew { delivery, claim }),
        10 => pass().prop_map(|ms| Step::Pass { ms }),
        3 => worker.clone().prop_map(|worker| Step::AwaitDue { worker }),
        3 => (worker.clone(), staff()).prop_map(|(worker, staff)| Step::Deploy { worker, staff }),
        1 => (worker.clone(), 0..3_usize).prop_map(|(worker, event)| Step::ClaimElsewhere { worker, event }),
        3 => dead().prop_map(Step::Redrive),
        2 => dead().prop_map(Step::Discard),
        1 => (0..HANDLERS.len()).prop_map(|handler| Step::Forget { handler }),
        1 => kept().prop_map(|kept_s| Step::Prune { kept_s }),
        2 => (worker, unhandled(), kept())
            .prop_map(|(worker, unhandled, kept_s)| Step::Maintain { worker, unhandled, kept_s }),
    ]
}

fn sketch() -> impl Strategy<Value = Sketch> {
    let key = prop_oneof![Just(None), Just(Some("k")), Just(Some("k")), Just(Some("l"))];
    let delay = prop_oneof![6 => Just(0_u64), 1 => Just(1), 1 => Just(10), 1 => Just(100)];
    let version = prop_oneof![3 => Just(1_u32), 1 => Just(2), 1 => Just(3)];
    let repeats = prop_oneof![12 => Just(None), 1 => (0..6_usize).prop_map(Some)];
    (0..TYPES.len(), key, delay, version, repeats).prop_map(|(event_type, key, delay_s, version, repeats)| {
        Sketch { event_type, key, delay_s, version, repeats }
    })
}

fn max() -> impl Strategy<Value = usize> {
    prop_oneof![3 => Just(100_usize), 1 => 1..=4_usize]
}

fn ending() -> impl Strategy<Value = Ending> {
    prop_oneof![
        8 => Just(Ending::Done),
        4 => prop_oneof![Just(0_u64), Just(5), Just(50)].prop_map(|pause_s| Ending::Fail { pause_s }),
        1 => Just(Ending::GiveBack),
        3 => Just(Ending::Bury),
        2 => Just(Ending::Lost),
    ]
}

fn settled() -> impl Strategy<Value = Settled> {
    prop_oneof![
        4 => Just(Settled::After),
        2 => Just(Settled::Before),
        4 => Just(Settled::Along),
        2 => Just(Settled::Never),
    ]
}

fn verdict() -> impl Strategy<Value = Verdict> {
    prop_oneof![
        4 => Just(Verdict::Done),
        2 => prop_oneof![Just(0_u64), Just(5)].prop_map(|pause_s| Verdict::Retry { pause_s }),
        2 => prop_oneof![Just(0_u64), Just(5)].prop_map(|pause_s| Verdict::Defer { pause_s }),
        1 => Just(Verdict::Dead),
    ]
}

/// Around the pauses and leases above: just before, exactly, past all of them.
fn pass() -> impl Strategy<Value = u64> {
    prop_oneof![
        Just(1_u64),
        Just(1_000),
        Just(5_000),
        Just(19_999),
        Just(59_999),
        Just(60_000),
        Just(200_000)
    ]
}

fn kept() -> impl Strategy<Value = u64> {
    prop_oneof![Just(1_u64), Just(60), Just(100_000)]
}

fn dead() -> impl Strategy<Value = Dead> {
    prop_oneof![
        Just(Dead::All),
        (0..HANDLERS.len()).prop_map(Dead::OfHandler),
        (0..TYPES.len()).prop_map(Dead::OfType),
        (0..6_usize).prop_map(Dead::OfEvent),
        prop_oneof![Just(1_u64), Just(60)].prop_map(|seconds| Dead::For { seconds }),
    ]
}

fn unhandled() -> impl Strategy<Value = Unhandled> {
    prop_oneof![Just(Unhandled::Wait), Just(Unhandled::Discard), Just(Unhandled::DeadLetter)]
}
