//! Putting a worker together, and what can be wrong with it.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::Worker;
use super::health::HealthState;
use super::heartbeat::Heartbeat;
use super::setting::InvalidSetting;
use super::settings::WorkerSettings;
use super::shared::{WorkerHandler, WorkerShared};
use crate::any_handler::{AnyHandler, Code};
use crate::telemetry::HandlerMetrics;
use crate::{Bus, Handler, Ledger, Registry, RuntimeHandler, SharedClock, StateMap, SystemClock, limits};

/// Puts a [`Worker`] together.
pub struct WorkerBuilder {
    bus: Arc<dyn Bus>,
    ledger: Arc<dyn Ledger>,
    clock: SharedClock,
    state: StateMap,
    settings: WorkerSettings,
    concurrency: Option<usize>,
    annotated: Vec<&'static Handler>,
    collect: bool,
    runtime: Vec<RuntimeHandler>,
    expected: Vec<String>,
}

/// Why a worker cannot be built. Each message names the thing and its place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// Two handlers have one name.
    #[error(
        "handler name {name:?} is taken twice: {places}; a name is a handler's identity in the ledger, so give one of them another"
    )]
    DuplicateName {
        /// The name.
        name: String,
        /// Where both are written.
        places: String,
    },
    /// A handler's name is not allowed.
    #[error("handler name {name:?} is not allowed: `[a-z0-9_.-]`, 1 to 64 characters")]
    Name {
        /// The name.
        name: String,
    },
    /// A handler's event type or pattern is not allowed.
    #[error(
        "handler {handler:?} has event type {event_type:?}: use a dotted name, or a pattern of one with `*`"
    )]
    EventType {
        /// The handler.
        handler: String,
        /// Its event type.
        event_type: String,
    },
    /// A handler needs state that the worker was not given.
    #[error("handler {handler:?} ({place}) takes State<{state}>: give it to the worker with `.state(…)`")]
    MissingState {
        /// The handler.
        handler: String,
        /// Where it is written.
        place: String,
        /// The type of the state.
        state: String,
    },
    /// A handler takes a transaction that the ledger does not offer.
    #[error(
        "handler {handler:?} ({place}) takes the transaction {wanted}, but the worker's ledger offers {offered}"
    )]
    Transaction {
        /// The handler.
        handler: String,
        /// Where it is written.
        place: String,
        /// The transaction it takes.
        wanted: String,
        /// What the ledger offers.
        offered: String,
    },
    /// An expected handler is not linked into this binary.
    #[error(
        "handler {name:?} is expected but not linked into this binary; it has: {present}. Name its module, or pass `.handlers([&module::HANDLER])`"
    )]
    NotLinked {
        /// The handler.
        name: String,
        /// The names that are there.
        present: String,
    },
    /// A setting is out of bounds.
    #[error(transparent)]
    Setting(#[from] InvalidSetting),
}

impl WorkerBuilder {
    pub(super) fn new(bus: Arc<dyn Bus>, ledger: Arc<dyn Ledger>) -> Self {
        Self {
            bus,
            ledger,
            clock: Arc::new(SystemClock),
            state: StateMap::new(),
            settings: WorkerSettings::default(),
            concurrency: None,
            annotated: Vec::new(),
            collect: true,
            runtime: Vec::new(),
            expected: Vec::new(),
        }
    }

    /// Gives `value` to every handler that takes `State<T>`.
    #[must_use]
    pub fn state<T: Clone + Send + Sync + 'static>(mut self, value: T) -> Self {
        self.state = self.state.with(value);
        self
    }

    /// Replaces all settings, but for what [`concurrency`](Self::concurrency) sets, before or after.
    #[must_use]
    pub fn settings(mut self, settings: WorkerSettings) -> Self {
        self.settings = settings;
        self
    }

    /// Sets the most handler runs at a time, whatever [`settings`](Self::settings) say.
    #[must_use]
    pub fn concurrency(mut self, runs: usize) -> Self {
        self.concurrency = Some(runs);
        self
    }

    /// Registers handlers by hand, in addition to those that the linker brought: for crates of handlers that the
    /// binary never names otherwise.
    #[must_use]
    pub fn handlers(mut self, handlers: impl IntoIterator<Item = &'static Handler>) -> Self {
        self.annotated.extend(handlers);
        self
    }

    /// Runs only the handlers given by [`handlers`](Self::handlers) and [`runtime_handler`](Self::runtime_handler),
    /// not those that the linker brought. For binaries with several workers, and for tests.
    #[must_use]
    pub fn only_given_handlers(mut self) -> Self {
        self.collect = false;
        self
    }

    /// Adds a handler made at run time.
    #[must_use]
    pub fn runtime_handler(mut self, handler: RuntimeHandler) -> Self {
        self.runtime.push(handler);
        self
    }

    /// Fails the build unless handlers of all these names are there: a crate of handlers may be left out by the linker.
    #[must_use]
    pub fn expect_handlers<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        self.expected.extend(names.into_iter().map(Into::into));
        self
    }

    /// Takes the time from `clock`, which tests move. It should be the store's clock, too.
    #[must_use]
    pub fn clock(mut self, clock: SharedClock) -> Self {
        self.clock = clock;
        self
    }

    /// Checks everything and builds the worker. Nothing is touched in the database.
    ///
    /// # Errors
    ///
    /// [`BuildError`].
    pub fn build(mut self) -> Result<Worker, BuildError> {
        self.settings.concurrency = self.concurrency.unwrap_or(self.settings.concurrency);
        self.settings.validate()?;
        let collected = if self.collect { Registry::collect() } else { Registry::of([]) };
        let annotated = Registry::of(collected.iter().chain(self.annotated.iter().copied()));
        for handler in annotated.iter() {
            self.check_needs(handler)?;
        }
        let runtime = self.runtime.iter().cloned().map(AnyHandler::from);
        let all: Vec<AnyHandler> = annotated.iter().map(AnyHandler::from).chain(runtime).collect();
        check_names(&all)?;
        self.check_expected(&all)?;
        let handlers = all.into_iter().map(|handler| self.with_terms(handler)).collect::<Result<_, _>>()?;
        let joint = self.ledger.store_id().is_some() && self.ledger.store_id() == self.bus.store_id();
        let shared = WorkerShared {
            owner: Uuid::new_v4(),
            joint,
            backoff: self.settings.backoff,
            handlers,
            heartbeat: Heartbeat::new(Arc::clone(&self.clock)),
            health: Arc::new(HealthState::new(Arc::clone(&self.clock))),
            abort: CancellationToken::new(),
            bus: self.bus,
            ledger: self.ledger,
            clock: self.clock,
            state: self.state,
        };
        Ok(Worker { shared: Arc::new(shared), settings: self.settings })
    }

    fn check_needs(&self, handler: &'static Handler) -> Result<(), BuildError> {
        let name = || handler.name().to_owned();
        let place = || handler.written_at().to_string();
        if let Some(need) = handler.needed().find(|need| !self.state.meets(need)) {
            return Err(BuildError::MissingState {
                handler: name(),
                place: place(),
                state: need.name().to_owned(),
            });
        }
        let offered = self.ledger.transactions().map(crate::Transactions::offers);
        match handler.transaction_type() {
            Some(wanted) if offered != Some(wanted) => Err(BuildError::Transaction {
                handler: name(),
                place: place(),
                wanted: wanted.short_name(),
                offered: crate::transaction::told(offered),
            }),
            _ => Ok(()),
        }
    }

    fn check_expected(&self, all: &[AnyHandler]) -> Result<(), BuildError> {
        let is_there = |name: &String| all.iter().any(|handler| *handler.name == **name);
        match self.expected.iter().find(|name| !is_there(name)) {
            None => Ok(()),
            Some(missing) => {
                let mut present = String::new();
                for handler in all {
                    let _ = write!(present, "{}{}", if present.is_empty() { "" } else { ", " }, handler.name);
                }
                let present = if present.is_empty() { "no handlers".to_owned() } else { present };
                Err(BuildError::NotLinked { name: missing.clone(), present })
            }
        }
    }

    /// Fills in the worker's defaults.
    fn with_terms(&self, mut handler: AnyHandler) -> Result<Arc<WorkerHandler>, BuildError> {
        let settings = &self.settings;
        let usual = if handler.transactional { settings.transaction_timeout } else { settings.timeout };
        handler.terms.on_dead.get_or_insert(settings.on_dead);
        let max_attempts = handler.terms.max_attempts.unwrap_or(settings.max_attempts);
        let lease = handler.terms.lease.unwrap_or(settings.lease);
        let timeout = handler.terms.timeout.unwrap_or(usual);
        let own = WorkerSettings { max_attempts, lease, timeout, ..settings.clone() };
        own.validate().map_err(|error| error.of_handler(&handler.name))?;
        Ok(Arc::new(WorkerHandler {
            name: Arc::clone(&handler.name),
            timeout,
            max_attempts,
            lease,
            transactional: handler.transactional,
            metrics: HandlerMetrics::new(&handler.name),
            handler,
        }))
    }
}

fn check_names(all: &[AnyHandler]) -> Result<(), BuildError> {
    let mut places = BTreeMap::<&str, &AnyHandler>::new();
    for handler in all {
        let name = &*handler.name;
        let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_.-".contains(&b);
        if name.is_empty() || name.len() > 64 || !name.bytes().all(allowed) {
            return Err(BuildError::Name { name: name.chars().take(80).collect() });
        }
        // A pattern is allowed where its stars could stand for letters.
        if limits::check_type(&handler.event_type.replace('*', "x")).is_err() {
            let event_type = handler.event_type.to_string();
            return Err(BuildError::EventType { handler: name.to_owned(), event_type });
        }
        if let Some(first) = places.insert(name, handler) {
            let places = format!("{} and {}", place(first), place(handler));
            return Err(BuildError::DuplicateName { name: name.to_owned(), places });
        }
    }
    Ok(())
}

fn place(handler: &AnyHandler) -> String {
    match &handler.code {
        Code::Annotated(handler) => handler.written_at().to_string(),
        Code::Runtime(_) => format!("a run-time handler on {}", handler.event_type),
    }
}
