//! Annotated handlers and those made at run time, as the worker sees both.

use std::sync::Arc;

use crate::{Handler, HandlerRun, RunFuture, RuntimeHandler, Terms, matches_pattern};

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
    Runtime(RuntimeHandler),
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
            name: Arc::from(handler.name()),
            event_type: Arc::from(handler.event_type()),
            max_version: handler.version(),
            terms: handler.terms(),
            transactional: handler.transaction_type().is_some(),
            code: Code::Annotated(handler),
        }
    }
}
