//! Identity of an event.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Identity of one event: the key under which every handler's work is remembered.
///
/// New ids are UUID v7 ([RFC 9562](https://www.rfc-editor.org/rfc/rfc9562)), so they sort by the time they were
/// made. Any UUID that comes from elsewhere is accepted.
///
/// It is printed hyphenated and in lower case, which is also how the databases hold it; it is parsed from any
/// usual form.
///
/// ```
/// use outbox_core::EventId;
///
/// let id: EventId = "{67E55044-10B1-426F-9247-BB680E5FE0C8}".parse()?;
/// assert_eq!(id.to_string(), "67e55044-10b1-426f-9247-bb680e5fe0c8");
/// assert_eq!("67e5504410b1426f9247bb680e5fe0c8".parse::<EventId>()?, id);
/// # Ok::<(), outbox_core::ParseEventIdError>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EventId(Uuid);

impl EventId {
    /// A fresh id.
    #[must_use]
    #[allow(clippy::new_without_default, reason = "two defaults of one type should not differ")]
    pub fn new() -> Self {
        Self(Uuid::now_v7())
    }

    /// The id of a follow-up event: UUID v5 of `name` within the namespace of `self`, so that a re-run of the
    /// handler that causes it arrives at the same id.
    #[must_use]
    pub fn derive(self, name: &[u8]) -> Self {
        Self(Uuid::new_v5(&self.0, name))
    }

    /// The UUID itself.
    #[must_use]
    pub fn as_uuid(&self) -> &Uuid {
        &self.0
    }
}

impl From<Uuid> for EventId {
    fn from(uuid: Uuid) -> Self {
        Self(uuid)
    }
}

impl From<EventId> for Uuid {
    fn from(id: EventId) -> Self {
        id.0
    }
}

impl fmt::Display for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.hyphenated().fmt(f)
    }
}

impl fmt::Debug for EventId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EventId({self})")
    }
}

impl FromStr for EventId {
    type Err = ParseEventIdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Uuid::parse_str(text.trim())
            .map(Self)
            .map_err(|_| ParseEventIdError { given: text.chars().take(80).collect() })
    }
}

/// A text that is no UUID in any of its usual forms.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{given:?} is not an event id: give a UUID, hyphenated (67e55044-10b1-426f-9247-bb680e5fe0c8), plain, braced or as urn:uuid"
)]
pub struct ParseEventIdError {
    given: String,
}
