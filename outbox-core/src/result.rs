//! What a handler returns, and what the worker makes of it.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use crate::error::{BoxError, chain};

/// An error that tells the worker how to go on. Every other error is retried on the usual schedule.
///
/// It may be returned as it is or as the cause of another error, for instance through `anyhow`.
///
/// ```
/// use std::time::Duration;
/// use outbox_core::HandlerError;
///
/// fn fetch(status: u16) -> Result<(), HandlerError> {
///     match status {
///         200 => Ok(()),
///         404 => Err(HandlerError::permanent("the poster does not exist")),
///         429 => Err(HandlerError::retry_after(Duration::from_secs(30), "asked to slow down")),
///         _ => Err(HandlerError::retry("server error")),
///     }
/// }
/// # assert!(fetch(200).is_ok());
/// ```
#[derive(Debug)]
pub struct HandlerError(Marker);

/// The advice stands one step down the chain of causes: `anyhow` hides the type of the error it wraps, but not that
/// error's sources.
#[derive(Debug)]
struct Marker {
    advice: Advice,
    source: BoxError,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Advice {
    Retry,
    RetryAfter(Duration),
    Permanent,
}

impl HandlerError {
    /// A failure that no retry can mend: the event is dead-lettered for this handler at once.
    pub fn permanent(error: impl Into<BoxError>) -> Self {
        Self(Marker { advice: Advice::Permanent, source: error.into() })
    }

    /// A failure to be retried after `delay` instead of the usual schedule.
    pub fn retry_after(delay: Duration, error: impl Into<BoxError>) -> Self {
        Self(Marker { advice: Advice::RetryAfter(delay), source: error.into() })
    }

    /// A failure to be retried on the usual schedule.
    pub fn retry(error: impl Into<BoxError>) -> Self {
        Self(Marker { advice: Advice::Retry, source: error.into() })
    }
}

impl fmt::Display for HandlerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.source.fmt(f)
    }
}

impl Error for HandlerError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&self.0)
    }
}

impl fmt::Display for Marker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.source.fmt(f)
    }
}

impl Error for Marker {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        Some(&*self.source)
    }
}

/// What a handler may return: `Result<(), E>` where `E` converts into `Box<dyn Error + Send + Sync>`.
#[diagnostic::on_unimplemented(
    message = "a handler cannot return `{Self}`",
    label = "not a handler's result",
    note = "return `Result<(), E>` where `E: Into<Box<dyn std::error::Error + Send + Sync>>`: any error type, `anyhow::Error`, `String`, `HandlerError`"
)]
pub trait IntoHandlerResult {
    /// The result in the form in which the worker decides.
    ///
    /// # Errors
    ///
    /// The handler's own failure.
    fn into_handler_result(self) -> Result<(), HandlerFailure>;
}

// Without it the compiler talks about a conversion that the author has never heard of.
#[diagnostic::do_not_recommend]
impl<E: Into<BoxError>> IntoHandlerResult for Result<(), E> {
    fn into_handler_result(self) -> Result<(), HandlerFailure> {
        self.map_err(|error| HandlerFailure::of(&*error.into()))
    }
}

/// A failed run, reduced to what the ledger needs: what to do, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HandlerFailure {
    kind: FailureKind,
    message: String,
}

/// What a failed run means for the claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum FailureKind {
    /// Retry on the usual schedule.
    Retry,
    /// Retry after this delay.
    RetryAfter(Duration),
    /// Never retry.
    Permanent,
    /// The handler panicked: a failed attempt.
    Panic,
    /// The handler was dropped at its timeout: a failed attempt, retried after the lease at the earliest, since
    /// threads that it started may still run.
    Timeout,
    /// The claim was taken over: nothing is written.
    LeaseLost,
    /// The worker shuts down: due again at once.
    Shutdown,
}

impl HandlerFailure {
    /// A failure of the given kind.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into() }
    }

    /// Looks through the error and its causes for a [`HandlerError`]'s advice.
    fn of(error: &(dyn Error + Send + Sync + 'static)) -> Self {
        let message = chain(error);
        let mut cause: Option<&(dyn Error + 'static)> = Some(error);
        while let Some(error) = cause {
            if let Some(marker) = error.downcast_ref::<Marker>() {
                let kind = match marker.advice {
                    Advice::Retry => FailureKind::Retry,
                    Advice::RetryAfter(delay) => FailureKind::RetryAfter(delay),
                    Advice::Permanent => FailureKind::Permanent,
                };
                return Self { kind, message };
            }
            cause = error.source();
        }
        Self { kind: FailureKind::Retry, message }
    }

    /// What to do.
    #[must_use]
    pub fn kind(&self) -> FailureKind {
        self.kind
    }

    /// Why, with all causes, in one line.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.message
    }
}

impl fmt::Display for HandlerFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] HandlerError);

    fn kind<E: Into<BoxError>>(error: E) -> FailureKind {
        Err(error).into_handler_result().unwrap_err().kind()
    }

    #[test]
    fn advice_is_found_directly_below_another_error_and_inside_anyhow() {
        let delay = Duration::from_secs(9);
        assert_eq!(kind(HandlerError::permanent("x")), FailureKind::Permanent);
        assert_eq!(kind(Outer(HandlerError::permanent("x"))), FailureKind::Permanent);
        assert_eq!(kind(anyhow::Error::new(HandlerError::permanent("x"))), FailureKind::Permanent);
        let deep = anyhow::Error::new(Outer(HandlerError::retry_after(delay, "x"))).context("a").context("b");
        assert_eq!(kind(deep), FailureKind::RetryAfter(delay));
        assert_eq!(
            kind(anyhow::Error::new(HandlerError::permanent("x")).context("a")),
            FailureKind::Permanent
        );
    }

    #[test]
    fn any_other_error_is_retried_and_its_causes_are_told() {
        let failure =
            Err::<(), _>(anyhow::anyhow!("disk").context("poster")).into_handler_result().unwrap_err();
        assert_eq!(failure.kind(), FailureKind::Retry);
        assert_eq!(failure.message(), "poster: disk");
        assert_eq!(kind("just text"), FailureKind::Retry);
    }
}
