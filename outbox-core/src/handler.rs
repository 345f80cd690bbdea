//! A handler as the registry knows it.

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use crate::{Event, HandlerRun, Need, OnDead, RunEnd, TransactionType};

/// The result of a run. Both sides say what became of the claim; `Err` is for the early ways out, so that generated
/// code can use `?`.
pub type RunResult = Result<RunEnd, RunEnd>;

/// A run in progress.
pub type RunFuture = Pin<Box<dyn Future<Output = RunResult> + Send>>;

/// A handler that `#[event_handler]` made of a function: its identity, terms and code.
///
/// The macro writes `pub static HANDLER: Handler` into a module beside the function. The methods that set something are for
/// that code; a handler that the program makes while it runs is a [`RuntimeHandler`](crate::RuntimeHandler).
pub struct Handler {
    name: &'static str,
    event_type: &'static str,
    version: u32,
    pub(crate) run: fn(HandlerRun) -> RunFuture,
    location: Location,
    needs: &'static [fn() -> Option<Need>],
    transaction: Option<TransactionType>,
    terms: Terms,
    check: IdempotencyCheck,
}

/// Where a handler is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location {
    /// Source file, as the compiler names it: relative to the workspace or absolute.
    pub file: &'static str,
    /// Line in it, from 1.
    pub line: u32,
    /// Path of the module, `crate::module`.
    pub module: &'static str,
}

impl std::fmt::Display for Location {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.file, self.line)
    }
}

/// What a handler asks for instead of the worker's defaults.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Terms {
    /// Longest run. `None`: the worker's, which is 60 s by default, and 2 s for a handler with a transaction.
    pub timeout: Option<Duration>,
    /// How many attempts it has, from 1. `None`: the worker's, 10 by default.
    pub max_attempts: Option<u32>,
    /// Lease of its claims. `None`: the worker's, 60 s by default.
    pub lease: Option<Duration>,
    /// What its dead letters mean for later events of their key. `None`: what the worker's settings say.
    pub on_dead: Option<OnDead>,
}

/// Whether a handler's idempotency is checked by generated tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum IdempotencyCheck {
    /// By a scenario.
    Scenario,
    /// Not, for this reason.
    Skipped(&'static str),
    /// Not, and nobody said why.
    Missing,
}

impl Handler {
    /// A handler of the events `E` under a name that stays. `run` is claim, call, done or release.
    #[must_use]
    pub const fn new<E: Event>(name: &'static str, run: fn(HandlerRun) -> RunFuture) -> Self {
        Self::of(name, E::TYPE, E::VERSION, run)
    }

    const fn of(
        name: &'static str,
        event_type: &'static str,
        version: u32,
        run: fn(HandlerRun) -> RunFuture,
    ) -> Self {
        Self {
            name,
            event_type,
            version,
            run,
            location: Location { file: "unknown", line: 0, module: "unknown" },
            needs: &[],
            transaction: None,
            terms: Terms { timeout: None, max_attempts: None, lease: None, on_dead: None },
            check: IdempotencyCheck::Missing,
        }
    }

    /// Sets where it is written: `file!()`, `line!()`, `module_path!()`.
    #[must_use]
    pub const fn location(mut self, file: &'static str, line: u32, module: &'static str) -> Self {
        self.location = Location { file, line, module };
        self
    }

    /// Sets what its arguments need of the worker, which is checked when that is built.
    #[must_use]
    pub const fn needs(mut self, needs: &'static [fn() -> Option<Need>]) -> Self {
        self.needs = needs;
        self
    }

    /// Sets the transaction it takes, which the worker's ledger must offer.
    #[must_use]
    pub const fn transaction(mut self, transaction: TransactionType) -> Self {
        self.transaction = Some(transaction);
        self
    }

    /// Sets its longest run.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.terms.timeout = Some(timeout);
        self
    }

    /// Sets how many attempts it has, from 1.
    #[must_use]
    pub const fn max_attempts(mut self, max_attempts: u32) -> Self {
        self.terms.max_attempts = Some(max_attempts);
        self
    }

    /// Sets the lease of its claims.
    #[must_use]
    pub const fn lease(mut self, lease: Duration) -> Self {
        self.terms.lease = Some(lease);
        self
    }

    /// Sets what its dead letters mean for later events of their key.
    #[must_use]
    pub const fn on_dead(mut self, on_dead: OnDead) -> Self {
        self.terms.on_dead = Some(on_dead);
        self
    }

    /// Sets how its idempotency is checked.
    #[must_use]
    pub const fn check(mut self, check: IdempotencyCheck) -> Self {
        self.check = check;
        self
    }

    /// Stable identity, as the ledger holds it.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The type of event it handles.
    #[must_use]
    pub const fn event_type(&self) -> &'static str {
        self.event_type
    }

    /// The highest version of the event that it knows.
    #[must_use]
    pub const fn version(&self) -> u32 {
        self.version
    }

    /// Where it is written.
    #[must_use]
    pub const fn written_at(&self) -> Location {
        self.location
    }

    /// What it asks for instead of the worker's defaults.
    #[must_use]
    pub const fn terms(&self) -> Terms {
        self.terms
    }

    /// The transaction it takes, if it takes one.
    #[must_use]
    pub const fn transaction_type(&self) -> Option<TransactionType> {
        self.transaction
    }

    /// How its idempotency is checked.
    #[must_use]
    pub const fn idempotency(&self) -> IdempotencyCheck {
        self.check
    }

    pub(crate) fn needed(&self) -> impl Iterator<Item = Need> + '_ {
        self.needs.iter().filter_map(|need| need())
    }
}

/// What `#[event_handler]` leaves behind when the annotation is wrong, so that code that names the handler brings no
/// errors of its own. It never runs, since the mistake fails the build.
pub const fn invalid_handler() -> Handler {
    Handler::of("invalid", "invalid", 1, |_| unreachable!("this handler's annotation does not compile"))
}

impl std::fmt::Debug for Handler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Handler({} on {} at {})", self.name, self.event_type, self.location)
    }
}
