//! What an event may look like: one set of rules for every backend, checked before anything is stored.

use std::time::{Duration, SystemTime};

use crate::{Envelope, Timestamp};

/// Longest event type, in bytes.
pub const MAX_TYPE_BYTES: usize = 128;
/// Longest key, in bytes.
pub const MAX_KEY_BYTES: usize = 512;
/// Largest payload, in bytes: 8 MiB. (A broker may refuse less; the relay then says so.)
pub const MAX_PAYLOAD_BYTES: usize = 8 * 1024 * 1024;
/// Most headers of one event.
pub const MAX_HEADERS: usize = 64;
/// Longest header name, in bytes.
pub const MAX_HEADER_NAME_BYTES: usize = 128;
/// Longest header value, in bytes.
pub const MAX_HEADER_VALUE_BYTES: usize = 8 * 1024;
/// Longest delay of an event: 100 years. A longer one is taken for an error in its calculation.
pub const MAX_DELAY: Duration = Duration::from_secs(100 * 366 * 86_400);

/// Why an event was refused before it was stored. Nothing was written.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidEvent {
    /// The type is not a dotted name.
    #[error(
        "event type {given:?} is not allowed: use letters, digits, `_` and `-`, parts separated by single dots, at most {MAX_TYPE_BYTES} bytes"
    )]
    Type {
        /// The start of what was given.
        given: String,
    },
    /// The version is zero.
    #[error("event version 0 is not allowed: versions count from 1")]
    Version,
    /// The key is too long or has control characters.
    #[error(
        "event key {given:?} ({bytes} bytes) is not allowed: at most {MAX_KEY_BYTES} bytes, not empty, no control characters"
    )]
    Key {
        /// The start of what was given.
        given: String,
        /// Its length.
        bytes: usize,
    },
    /// A header's name is no HTTP field name.
    #[error(
        "header name {given:?} is not allowed: use the characters of HTTP field names (RFC 9110, section 5.1), at most {MAX_HEADER_NAME_BYTES} bytes"
    )]
    HeaderName {
        /// The start of what was given.
        given: String,
    },
    /// A header's value is too long or has CR, LF or NUL.
    #[error(
        "value of header {name:?} ({bytes} bytes) is not allowed: at most {MAX_HEADER_VALUE_BYTES} bytes, no CR, LF or NUL"
    )]
    HeaderValue {
        /// The header.
        name: String,
        /// Length of its value.
        bytes: usize,
    },
    /// Too many headers.
    #[error("{count} headers are too many: at most {MAX_HEADERS}")]
    HeaderCount {
        /// How many were given.
        count: usize,
    },
    /// The payload is too large.
    #[error(
        "payload of {bytes} bytes is too large: at most {MAX_PAYLOAD_BYTES} bytes; store the data and send its address"
    )]
    PayloadSize {
        /// Its length.
        bytes: usize,
    },
    /// The payload is not JSON.
    #[error("payload is not JSON: {reason}")]
    Payload {
        /// What serde_json says.
        reason: String,
    },
    /// The due time cannot be stored.
    #[error("due time is not allowed: {reason}")]
    Due {
        /// What is wrong with it.
        reason: String,
    },
}

/// Checks everything of an envelope but that its payload is JSON (a payload that was serialized here is).
pub(crate) fn check(envelope: &Envelope) -> Result<(), InvalidEvent> {
    check_type(&envelope.event_type)?;
    if envelope.version == 0 {
        return Err(InvalidEvent::Version);
    }
    if let Some(key) = &envelope.key {
        check_key(key)?;
    }
    if envelope.headers.len() > MAX_HEADERS {
        return Err(InvalidEvent::HeaderCount { count: envelope.headers.len() });
    }
    for (name, value) in &envelope.headers {
        check_header(name, value)?;
    }
    if envelope.payload.len() > MAX_PAYLOAD_BYTES {
        return Err(InvalidEvent::PayloadSize { bytes: envelope.payload.len() });
    }
    Ok(())
}

/// Checks an event type.
///
/// # Errors
///
/// [`InvalidEvent::Type`].
pub fn check_type(event_type: &str) -> Result<(), InvalidEvent> {
    let part_is_name = |part: &str| {
        !part.is_empty() && part.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
    };
    if event_type.len() <= MAX_TYPE_BYTES && event_type.split('.').all(part_is_name) {
        Ok(())
    } else {
        Err(InvalidEvent::Type { given: start_of(event_type) })
    }
}

fn check_key(key: &str) -> Result<(), InvalidEvent> {
    if key.is_empty() || key.len() > MAX_KEY_BYTES || key.chars().any(char::is_control) {
        return Err(InvalidEvent::Key { given: start_of(key), bytes: key.len() });
    }
    Ok(())
}

pub(crate) fn check_header(name: &str, value: &str) -> Result<(), InvalidEvent> {
    let is_token = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    if name.is_empty() || name.len() > MAX_HEADER_NAME_BYTES || !name.bytes().all(is_token) {
        return Err(InvalidEvent::HeaderName { given: start_of(name) });
    }
    if value.len() > MAX_HEADER_VALUE_BYTES || value.contains(['\r', '\n', '\0']) {
        return Err(InvalidEvent::HeaderValue { name: name.to_owned(), bytes: value.len() });
    }
    Ok(())
}

pub(crate) fn check_delay(delay: Duration) -> Result<(), InvalidEvent> {
    if delay > MAX_DELAY {
        return Err(InvalidEvent::Due {
            reason: format!("a delay of {} s; at most 100 years", delay.as_secs()),
        });
    }
    Ok(())
}

pub(crate) fn check_due(due: SystemTime) -> Result<Timestamp, InvalidEvent> {
    let due = Timestamp::from(due);
    if due.as_millis() < 0 || due > Timestamp::MAX {
        return Err(InvalidEvent::Due { reason: format!("{due}; use a moment from 1970 to 9999") });
    }
    Ok(due)
}

fn start_of(text: &str) -> String {
    const SHOWN: usize = 64;
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_dotted_names() {
        for good in ["a", "movie.added", "A-1._x", &"x".repeat(128)] {
            assert_eq!(check_type(good), Ok(()), "{good}");
        }
        for bad in ["", ".", "a.", ".a", "a..b", "a b", "é", "a/b", "a*", &"x".repeat(129)] {
            assert!(check_type(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn headers_are_what_http_allows() {
        assert_eq!(check_header("traceparent", "00-abc"), Ok(()));
        assert_eq!(check_header("X-Ok", "é, fine"), Ok(()));
        for (name, value) in [("", "v"), ("a b", "v"), ("a:", "v"), ("ä", "v"), ("a", "x\r\ny"), ("a", "\0")]
        {
            assert!(check_header(name, value).is_err(), "{name:?}: {value:?}");
        }
    }

    #[test]
    fn due_times_out_of_range_are_refused() {
        assert!(check_delay(Duration::from_secs(u64::MAX)).is_err());
        assert!(check_due(SystemTime::UNIX_EPOCH - Duration::from_secs(1)).is_err());
        assert!(check_due(SystemTime::from(Timestamp::MAX) + Duration::from_secs(1)).is_err());
        assert!(check_due(SystemTime::from(Timestamp::MAX)).is_ok());
    }

    #[test]
    fn an_error_shows_only_the_start_of_a_long_value() {
        let error = check_type(&"é".repeat(5_000)).unwrap_err().to_string();
        assert!(error.len() < 400, "{error}");
    }
}
