//! One setting that is not as it must be, and how settings are read from the environment.

use std::time::Duration;

/// A setting that is out of bounds.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} = {value}: {allowed}")]
pub struct InvalidSetting {
    /// The setting: a field's or a variable's name.
    pub name: String,
    /// What was given.
    pub value: String,
    /// What it must be instead, with the unit.
    pub allowed: String,
}

impl InvalidSetting {
    /// An error for `name` with the given `value`.
    pub fn new(name: impl Into<String>, value: impl std::fmt::Display, allowed: impl Into<String>) -> Self {
        Self { name: name.into(), value: value.to_string(), allowed: allowed.into() }
    }

    /// The same in the terms of a handler, not in a variable that the worker's own setting comes from.
    pub(super) fn of_handler(self, handler: &str) -> Self {
        let setting = self.name.split(" (").next().unwrap_or_default();
        Self { name: format!("handler {handler:?}: {setting}"), ..self }
    }

    /// Checks that a duration is within bounds, both included.
    ///
    /// # Errors
    ///
    /// An error for `name`.
    pub fn check_duration(
        name: &str,
        value: Duration,
        (least, most): (Duration, Duration),
    ) -> Result<(), Self> {
        if (least..=most).contains(&value) {
            return Ok(());
        }
        let allowed = format!("must be a duration from {} to {}", in_words(least), in_words(most));
        Err(Self::new(name, in_words(value), allowed))
    }
}

/// Days and hours where it is whole ones, so that nobody has to divide.
fn in_words(duration: Duration) -> String {
    const HOUR: u64 = 3_600;
    let seconds = duration.as_secs();
    let is_whole = |unit: u64| seconds > 0 && seconds.is_multiple_of(unit) && duration.subsec_nanos() == 0;
    let (count, unit) = match seconds {
        days if is_whole(24 * HOUR) => (days / (24 * HOUR), "day"),
        hours if is_whole(HOUR) => (hours / HOUR, "hour"),
        _ => return format!("{duration:?}"),
    };
    format!("{count} {unit}{}", if count == 1 { "" } else { "s" })
}

/// Reads a whole number within bounds.
///
/// # Errors
///
/// [`InvalidSetting`].
pub fn whole_number(
    lookup: &impl Fn(&str) -> Option<String>,
    name: &str,
    default: u32,
    least: u32,
    most: u32,
) -> Result<u32, InvalidSetting> {
    let Some(text) = lookup(name) else {
        return Ok(default);
    };
    match text.trim().parse() {
        Ok(number) if (least..=most).contains(&number) => Ok(number),
        _ => Err(InvalidSetting::new(
            name,
            format!("{text:?}"),
            format!("must be a whole number from {least} to {most}"),
        )),
    }
}

/// Reads a number of seconds, fractions allowed, within bounds.
///
/// # Errors
///
/// [`InvalidSetting`].
pub fn seconds(
    lookup: &impl Fn(&str) -> Option<String>,
    name: &str,
    default: Duration,
    (least, most): (Duration, Duration),
) -> Result<Duration, InvalidSetting> {
    let Some(text) = lookup(name) else {
        return Ok(default);
    };
    let parsed =
        text.trim().parse::<f64>().ok().and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    match parsed {
        Some(duration) if duration >= least && duration <= most => Ok(duration),
        _ => {
            let allowed =
                format!("must be a number of seconds from {} to {}", least.as_secs_f64(), most.as_secs_f64());
            Err(InvalidSetting::new(name, format!("{text:?}"), allowed))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_out_of_bounds_is_told_with_its_bounds_in_words() {
        let bounds = (Duration::from_millis(100), Duration::from_secs(86_400));
        let told = |value| InvalidSetting::check_duration("lease", value, bounds).unwrap_err().to_string();
        let allowed = "must be a duration from 100ms to 1 day";
        assert_eq!(told(Duration::ZERO), format!("lease = 0ns: {allowed}"));
        assert_eq!(told(Duration::from_secs(3 * 86_400)), format!("lease = 3 days: {allowed}"));
        assert_eq!(told(Duration::from_secs(25 * 3_600)), format!("lease = 25 hours: {allowed}"));
        assert_eq!(told(Duration::from_millis(86_400_001)), format!("lease = 86400.001s: {allowed}"));
        for value in [bounds.0, Duration::from_secs(3_600), bounds.1] {
            assert_eq!(InvalidSetting::check_duration("lease", value, bounds), Ok(()));
        }
    }
}
