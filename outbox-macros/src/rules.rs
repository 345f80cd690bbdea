//! Rules for the values of arguments. Each refusal says what is allowed.

use std::time::Duration;

const MAX_HANDLER_NAME_BYTES: usize = 64;
const MAX_EVENT_TYPE_BYTES: usize = 128;
/// What a worker takes, so that no handler that compiles keeps it from starting.
const MAX_DURATION: Duration = Duration::from_secs(24 * 3600);
/// A claim is renewed every third of its lease.
const MIN_LEASE: Duration = Duration::from_millis(100);

/// A handler's name is stored in the ledger and shown in metrics: `[a-z0-9_.-]{1,64}`.
pub(crate) fn handler_name(text: &str) -> Result<String, String> {
    let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"_.-".contains(&b);
    if (1..=MAX_HANDLER_NAME_BYTES).contains(&text.len()) && text.bytes().all(allowed) {
        return Ok(text.to_owned());
    }
    Err(format!(
        "a handler's name is 1 to {MAX_HANDLER_NAME_BYTES} of the characters `a-z`, `0-9`, `_`, `.` and `-`; this has {}",
        length_or_culprit(text, MAX_HANDLER_NAME_BYTES, allowed)
    ))
}

/// An event's type is part of broker subjects: dotted parts of `[A-Za-z0-9_-]`, at most 128 bytes.
pub(crate) fn event_type(text: &str) -> Result<String, String> {
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"_.-".contains(&b);
    let parts_are_names = text.bytes().all(allowed) && text.split('.').all(|part| !part.is_empty());
    if text.len() <= MAX_EVENT_TYPE_BYTES && parts_are_names {
        return Ok(text.to_owned());
    }
    let culprit = if text.len() <= MAX_EVENT_TYPE_BYTES && text.bytes().all(allowed) {
        "an empty part".to_owned()
    } else {
        length_or_culprit(text, MAX_EVENT_TYPE_BYTES, allowed)
    };
    Err(format!(
        "an event's type is parts of letters, digits, `_` and `-` separated by single dots, such as `movie.added`, \
         at most {MAX_EVENT_TYPE_BYTES} bytes; this has {culprit}"
    ))
}

/// A whole number above zero and a unit, such as `30s`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let unit_start = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, unit) = text.split_at(unit_start);
    let unit_ms = match unit {
        "ms" => 1,
        "s" => 1_000,
        "m" => 60_000,
        "h" => 3_600_000,
        _ => return Err(allowed_durations()),
    };
    digits
        .parse::<u64>()
        .ok()
        .and_then(|count| count.checked_mul(unit_ms))
        .map(Duration::from_millis)
        .filter(|duration| !duration.is_zero() && *duration <= MAX_DURATION)
        .ok_or_else(allowed_durations)
}

/// A [`duration`] within the bounds of leases.
pub(crate) fn lease(text: &str) -> Result<Duration, String> {
    let lease = duration(text)?;
    if lease < MIN_LEASE {
        return Err("a lease is at least `100ms`, since it is renewed every third of it".to_owned());
    }
    Ok(lease)
}

/// A reason is read by people, so it is not blank.
pub(crate) fn reason(text: &str) -> Result<String, String> {
    if text.trim().is_empty() {
        return Err(
            "say why this handler needs no checks; the reason is shown beside the ignored test".to_owned()
        );
    }
    Ok(text.to_owned())
}

fn allowed_durations() -> String {
    "a duration is a whole number above zero and a unit, `ms`, `s`, `m` or `h`, such as `500ms`, `30s`, `10m` or `2h`; \
     at most a day (`24h`)"
        .to_owned()
}

fn length_or_culprit(text: &str, max_bytes: usize, allowed: impl Fn(u8) -> bool) -> String {
    // Every byte of a character beyond ASCII is refused, so this finds whole characters.
    let culprit = text.chars().find(|c| !u8::try_from(*c).is_ok_and(|b| b.is_ascii() && allowed(b)));
    match culprit {
        Some(character) => format!("{character:?}"),
        None if text.is_empty() => "none".to_owned(),
        None => format!("{} of at most {max_bytes} bytes", text.len()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn handler_names_are_short_and_plain() {
        for good in ["a", "poster_sync", "a.b-c_9", &"x".repeat(64)] {
            assert_eq!(handler_name(good).unwrap(), good);
        }
        for (bad, culprit) in [
            ("", "none"),
            ("a b", "' '"),
            ("Mail", "'M'"),
            ("é", "'é'"),
            (&"x".repeat(65), "65 of at most 64"),
        ] {
            assert!(handler_name(bad).unwrap_err().contains(culprit), "{bad}");
        }
    }

    #[test]
    fn event_types_are_dotted_names() {
        for good in ["a", "movie.added", "A-1._x", &"x".repeat(128)] {
            assert_eq!(event_type(good).unwrap(), good);
        }
        for (bad, culprit) in [
            ("", "an empty part"),
            ("a.", "an empty part"),
            (".a", "an empty part"),
            ("a..b", "an empty part"),
            ("a b", "' '"),
            ("a*", "'*'"),
            (&"x".repeat(129), "129 of at most 128"),
        ] {
            assert!(event_type(bad).unwrap_err().contains(culprit), "{bad}");
        }
    }

    #[test]
    fn leases_are_no_shorter_than_a_worker_takes() {
        assert_eq!(lease("100ms"), Ok(Duration::from_millis(100)));
        assert!(lease("99ms").unwrap_err().contains("at least `100ms`"));
        assert!(lease("25h").unwrap_err().contains("at most a day"));
    }

    #[test]
    fn durations_have_a_unit_and_are_above_zero() {
        for (text, ms) in [("500ms", 500), ("30s", 30_000), ("10m", 600_000), ("2h", 7_200_000)] {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        let overflow = format!("{}h", u64::MAX);
        for bad in ["", "s", "30", "30 s", "-1s", "1.5s", "0s", "1d", "25h", "1441m", "1h30m", &overflow] {
            assert!(duration(bad).is_err(), "{bad}");
        }
    }
}
