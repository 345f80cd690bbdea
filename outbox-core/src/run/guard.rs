//! The bounds within which a handler runs.

use std::any::Any;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::time::Duration;

use futures_util::FutureExt;

use super::ActiveClaim;
use crate::{FailureKind, HandlerFailure};

impl ActiveClaim {
    /// Runs the handler within its bounds: drops it at its timeout, when its lease is lost and when the worker's grace
    /// period is over, and turns a panic into a failed attempt.
    ///
    /// # Errors
    ///
    /// The handler's failure, or which bound it met.
    pub async fn guard<F>(&self, call: F) -> Result<(), HandlerFailure>
    where
        F: Future<Output = Result<(), HandlerFailure>>,
    {
        let timeout = self.handler.timeout;
        self.beat.ends_after(timeout);
        let started = self.in_hand.worker.clock.passed();
        // In a box of its own, so that a panic while it is dropped can be caught, too.
        let mut call = Box::pin(AssertUnwindSafe(call).catch_unwind());
        let result = {
            let worker = &self.in_hand.worker;
            let mut lost = pin!(self.lost());
            let mut timer = pin!(worker.clock.sleep(timeout));
            let mut abort = pin!(worker.abort.cancelled());
            tokio::select! {
                biased;
                () = &mut lost => Err(HandlerFailure::new(FailureKind::LeaseLost, "lease lost")),
                result = &mut call => result.unwrap_or_else(|panic| Err(panicked(panic))),
                () = &mut timer => Err(timed_out(timeout, self.handler.transactional)),
                () = &mut abort => Err(HandlerFailure::new(FailureKind::Shutdown, "the worker was shut down")),
            }
        };
        let dropped = catch_unwind(AssertUnwindSafe(|| drop(call)));
        self.handler
            .metrics
            .handler_seconds
            .record(self.in_hand.worker.clock.passed().saturating_sub(started));
        match dropped {
            Ok(()) => result,
            Err(panic) => result.and(Err(panicked(panic))),
        }
    }

    /// The commit of a transaction is fenced by the ledger, and while it is open nobody else can claim; any other
    /// handler stops when its lease has run out.
    async fn lost(&self) {
        if self.handler.transactional { self.beat.lost().await } else { self.beat.lost_or_over().await }
    }
}

fn timed_out(timeout: Duration, transactional: bool) -> HandlerFailure {
    // What it waits for, in a task that it has spawned, say, cannot be told from here; this is what it mostly is.
    let rest = if transactional {
        "it was dropped and rolled back; nobody else can write while its transaction is open, so it must write on its `tx` \
         alone, and not wait for `store.enqueue`, for a write on another connection or for a task that does either"
    } else {
        "it was dropped; threads that it started may still run"
    };
    let text = format!("timeout: still running after {timeout:?}, so {rest}");
    HandlerFailure::new(FailureKind::Timeout, text)
}

fn panicked(panic: Box<dyn Any + Send>) -> HandlerFailure {
    let text = match (panic.downcast_ref::<&str>(), panic.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (_, Some(text)) => text.clone(),
        (None, None) => "(no text)".to_owned(),
    };
    // What was thrown may itself panic while it is dropped, and what that throws, too: that one is leaked.
    if let Err(again) = catch_unwind(AssertUnwindSafe(|| drop(panic))) {
        std::mem::forget(again);
    }
    HandlerFailure::new(FailureKind::Panic, format!("panic: {text}"))
}
