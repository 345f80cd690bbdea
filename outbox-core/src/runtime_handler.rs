//! Handlers that are made while the program runs, such as one per subscriber.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use crate::any_handler::{AnyHandler, Code};
use crate::handler::Terms;
use crate::{Delivery, HandlerFailure, HandlerRun, IntoHandlerResult, OnDead, RunFuture};

type Call = dyn Fn(String, Delivery) -> Pin<Box<dyn Future<Output = Result<(), HandlerFailure>> + Send>>
    + Send
    + Sync;

/// A handler with an owned name, a pattern of event types and a closure. It goes through the same worker and ledger
/// as an annotated function.
///
/// ```
/// use outbox_core::RuntimeHandler;
///
/// let handler = RuntimeHandler::new("webhook.acme", "mlc.*", |payload, delivery| async move {
///     println!("{}: {payload}", delivery.event_type);
///     Ok::<(), std::io::Error>(())
/// })
/// .max_attempts(5);
/// ```
#[derive(Clone)]
pub struct RuntimeHandler {
    name: Arc<str>,
    event_type: Arc<str>,
    max_version: u32,
    terms: Terms,
    call: Arc<Call>,
}

impl RuntimeHandler {
    /// A handler named `name` for the event types that fit `pattern` (`*` stands for any characters). `call` gets the
    /// payload, which is JSON text as it was written, and the delivery.
    ///
    /// Name and pattern are checked when the worker is built.
    pub fn new<F, Fut>(name: impl Into<Arc<str>>, pattern: impl Into<Arc<str>>, call: F) -> Self
    where
        F: Fn(String, Delivery) -> Fut + Send + Sync + 'static,
        Fut: Future + Send + 'static,
        Fut::Output: IntoHandlerResult,
    {
        Self {
            name: name.into(),
            event_type: pattern.into(),
            max_version: u32::MAX,
            terms: Terms::default(),
            call: Arc::new(move |payload, delivery| {
                let future = call(payload, delivery);
                Box::pin(async move { future.await.into_handler_result() })
            }),
        }
    }

    /// Leaves events of a version above `version` to a newer worker. Default: takes every version.
    #[must_use]
    pub fn max_version(mut self, version: u32) -> Self {
        self.max_version = version;
        self
    }

    /// Its timeout instead of the worker's.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.terms.timeout = Some(timeout);
        self
    }

    /// Its number of attempts instead of the worker's.
    #[must_use]
    pub fn max_attempts(mut self, max_attempts: u32) -> Self {
        self.terms.max_attempts = Some(max_attempts);
        self
    }

    /// Its lease instead of the worker's.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Self {
        self.terms.lease = Some(lease);
        self
    }

    /// What its dead letters mean for later events of their key.
    #[must_use]
    pub fn on_dead(mut self, on_dead: OnDead) -> Self {
        self.terms.on_dead = Some(on_dead);
        self
    }

    /// The same steps as the code that `#[event_handler]` generates.
    pub(crate) fn run(&self, run: HandlerRun) -> RunFuture {
        let call = Arc::clone(&self.call);
        Box::pin(async move {
            let claim = run.claim().await?;
            let handled = async { call(claim.payload().to_owned(), claim.delivery().clone()).await };
            match claim.guard(handled).await {
                Ok(()) => claim.done().await,
                Err(failure) => claim.release(failure).await,
            }
        })
    }
}

impl From<RuntimeHandler> for AnyHandler {
    fn from(handler: RuntimeHandler) -> Self {
        Self {
            name: Arc::clone(&handler.name),
            event_type: Arc::clone(&handler.event_type),
            max_version: handler.max_version,
            terms: handler.terms,
            transactional: false,
            code: Code::Runtime(handler),
        }
    }
}

impl fmt::Debug for RuntimeHandler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RuntimeHandler({} on {})", self.name, self.event_type)
    }
}
