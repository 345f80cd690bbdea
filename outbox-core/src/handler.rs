//! A handler as the registry knows it.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::{Event, HandlerRun, Need, OnDead, RunEnd, TransactionType};

/// The result of a run. Both sides say what became of the claim; `Err` is for the early ways out, so that generated
/// code can use `?`.
pub type RunResult = Result<RunEnd, RunEnd>;

/// A run in progress.
pub type RunFuture = Pin<Box<dyn Future<Output = RunResult> + Send>>;

/// A handler that `#[event_handler]` made of a function: its identity, terms and code.
///
/// The macro writes `pub static HANDLER: Handler` into a module beside the function; by hand one is rarely made.
pub struct Handler {
    name: &'static str,
    event_type: &'static str,
    version: u32,
    run: fn(HandlerRun) -> RunFuture,
    location: Location,
    needs: &'static [fn() -> Option<Need>],
    transaction: Option<TransactionType>,
    terms: Terms,
    check: IdempotencyCheck,
}

/// Where a handler is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Location {
    /// Source file as the compiler names it.
    pub file: &'static str,
    /// Line in it.
    pub line: u32,
    /// Module path.
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
    /// Longest run. Default: the worker's, 60 s, and 2 s for a handler with a transaction.
    pub timeout: Option<Duration>,
    /// How many attempts it has. Default: the worker's.
    pub max_attempts: Option<u32>,
    /// Lease of its claims. Default: the worker's.
    pub lease: Option<Duration>,
    /// What its dead letters mean for later events of their key.
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
    /// A handler of `E`. For generated code.
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

    /// Where it is written.
    #[must_use]
    pub const fn location(mut self, file: &'static str, line: u32, module: &'static str) -> Self {
        self.location = Location { file, line, module };
        self
    }

    /// What its arguments need.
    #[must_use]
    pub const fn needs(mut self, needs: &'static [fn() -> Option<Need>]) -> Self {
        self.needs = needs;
        self
    }

    /// The transaction it takes.
    #[must_use]
    pub const fn transaction(mut self, transaction: TransactionType) -> Self {
        self.transaction = Some(transaction);
        self
    }

    /// Its timeout.
    #[must_use]
    pub const fn timeout(mut self, timeout: Duration) -> Self {
        self.terms.timeout = Some(timeout);
        self
    }

    /// How many attempts it has.
    #[must_use]
    pub const fn max_attempts(mut self, max_attempts: u32) -> Self {
        self.terms.max_attempts = Some(max_attempts);
        self
    }

    /// Lease of its claims.
    #[must_use]
    pub const fn lease(mut self, lease: Duration) -> Self {
        self.terms.lease = Some(lease);
        self
    }

    /// What its dead letters mean for later events of their key.
    #[must_use]
    pub const fn on_dead(mut self, on_dead: OnDead) -> Self {
        self.terms.on_dead = Some(on_dead);
        self
    }

    /// How its idempotency is checked.
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

/// A handler in the worker's hands: an annotated one or one made at run time.
#[derive(Debug, Clone)]
pub(crate) struct AnyHandler {
    pub(crate) name: Arc<str>,
    pub(crate) event_type: Arc<str>,
    pub(crate) max_version: u32,
    pub(crate) terms: Terms,
    pub(crate) transactional: bool,
    pub(crate) code: Code,
}

#[derive(Clone)]
pub(crate) enum Code {
    Annotated(&'static Handler),
    Runtime(crate::RuntimeHandler),
}

impl std::fmt::Debug for Code {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Annotated(handler) => handler.fmt(f),
            Self::Runtime(handler) => handler.fmt(f),
        }
    }
}

impl AnyHandler {
    /// Runs it: claim, call, done or release.
    pub(crate) fn run(&self, run: HandlerRun) -> RunFuture {
        match &self.code {
            Code::Annotated(handler) => (handler.run)(run),
            Code::Runtime(handler) => handler.run(run),
        }
    }

    /// Whether it handles events of `event_type`.
    pub(crate) fn handles(&self, event_type: &str) -> bool {
        matches_pattern(&self.event_type, event_type)
    }
}

impl From<&'static Handler> for AnyHandler {
    fn from(handler: &'static Handler) -> Self {
        Self {
            name: Arc::from(handler.name),
            event_type: Arc::from(handler.event_type),
            max_version: handler.version,
            terms: handler.terms,
            transactional: handler.transaction.is_some(),
            code: Code::Annotated(handler),
        }
    }
}

/// Whether `event_type` fits `pattern`, in which `*` stands for any characters, also none, also dots.
pub fn matches_pattern(pattern: &str, event_type: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == event_type;
    };
    let Some(mut left) = event_type.strip_prefix(start) else {
        return false;
    };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return left.ends_with(part);
        }
        let Some(at) = left.find(part) else {
            return false;
        };
        left = &left[at + part.len()..];
    }
    true
}

#[cfg(test)]
mod tests {
    use super::matches_pattern;

    #[test]
    fn a_star_stands_for_any_characters() {
        for (pattern, event_type) in [
            ("a.b", "a.b"),
            ("*", "a.b"),
            ("mlc.*", "mlc.down"),
            ("mlc.*", "mlc.a.b"),
            ("*.down", "mlc.down"),
            ("a*c*e", "abcde"),
            ("a*", "a"),
        ] {
            assert!(matches_pattern(pattern, event_type), "{pattern} {event_type}");
        }
        for (pattern, event_type) in
            [("a.b", "a.bc"), ("mlc.*", "mlc"), ("*.down", "mlc.downs"), ("a*c*e", "abde"), ("ab*ba", "aba")]
        {
            assert!(!matches_pattern(pattern, event_type), "{pattern} {event_type}");
        }
    }
}
