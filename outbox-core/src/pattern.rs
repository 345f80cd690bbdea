//! Patterns of event types.

/// Whether `event_type` fits `pattern`, in which `*` stands for any characters, also none, also dots.
///
/// ```
/// use outbox_core::matches_pattern;
///
/// assert!(matches_pattern("movie.*", "movie.added"));
/// assert!(!matches_pattern("movie.*", "movie"));
/// ```
#[must_use]
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
