//! Errors of a store (database or broker), in the few kinds that decide what happens next.

use std::error::Error;
use std::fmt;

/// A boxed error of any type.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// What kind of failure a store had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum StoreErrorKind {
    /// Somebody else holds the lock; trying again helps.
    Busy,
    /// No space is left.
    Full,
    /// The store cannot be written to.
    ReadOnly,
    /// The store cannot be reached or opened.
    Unavailable,
    /// The store is not what it should be: no database, damaged, or of another schema.
    Corrupt,
    /// What was asked for is wrong; trying again does not help.
    Invalid,
    /// Anything else.
    Other,
}

impl StoreErrorKind {
    /// A stable name for logs and metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Busy => "busy",
            Self::Full => "full",
            Self::ReadOnly => "read_only",
            Self::Unavailable => "unavailable",
            Self::Corrupt => "corrupt",
            Self::Invalid => "invalid",
            Self::Other => "other",
        }
    }
}

/// A failure of a store: what was tried, of which kind, and what the driver said (as its source).
#[derive(Debug, Clone)]
pub struct StoreError {
    kind: StoreErrorKind,
    message: String,
    // Shared, since a batch that fails as a whole reports to each of its callers.
    source: Option<std::sync::Arc<dyn Error + Send + Sync>>,
}

impl StoreError {
    /// An error without a source.
    pub fn new(kind: StoreErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), source: None }
    }

    /// An error caused by `source`.
    pub fn with_source(
        kind: StoreErrorKind,
        message: impl Into<String>,
        source: impl Into<BoxError>,
    ) -> Self {
        Self { kind, message: message.into(), source: Some(std::sync::Arc::from(source.into())) }
    }

    /// The kind, for decisions.
    #[must_use]
    pub fn kind(&self) -> StoreErrorKind {
        self.kind
    }
}

impl fmt::Display for StoreError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Error for StoreError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_ref().map(|source| &**source as &(dyn Error + 'static))
    }
}

/// An error and its causes in one line, for logs and `last_error` columns.
#[must_use]
pub fn chain(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        let cause_text = cause.to_string();
        // Many errors repeat their source in their own text.
        if !text.ends_with(&cause_text) {
            text.push_str(": ");
            text.push_str(&cause_text);
        }
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bus::PublishError;
    use crate::{EnqueueError, WorkerError};

    #[test]
    fn a_report_with_all_causes_has_each_sentence_once() {
        let cause =
            || StoreError::with_source(StoreErrorKind::Corrupt, "what was tried", "what the driver said");
        let errors: [Box<dyn Error>; 3] = [
            Box::new(EnqueueError::Store(cause())),
            Box::new(PublishError::Transport(cause())),
            Box::new(WorkerError::Start(cause())),
        ];
        for error in errors {
            let mut report = vec![error.to_string()];
            let mut next = error.source();
            while let Some(cause) = next {
                report.push(cause.to_string());
                next = cause.source();
            }
            assert_eq!(report, ["what was tried", "what the driver said"]);
        }
    }
}
