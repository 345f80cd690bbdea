//! The names of the environment's variables, so that a misspelt one does not go unnoticed.

use outbox_core::InvalidSetting;

/// The variables of the table at [`App`](crate::App).
const KNOWN: [&str; 9] = [
    "EVENT_BUS_BACKEND",
    "EVENT_CONCURRENCY",
    "EVENT_DEAD_RETENTION_DAYS",
    "EVENT_LEDGER_LEASE_SECONDS",
    "EVENT_LEDGER_RETENTION_DAYS",
    "EVENT_POLL_SECONDS",
    "EVENT_QUEUE_LEASE_SECONDS",
    "EVENT_QUEUE_MAX_ATTEMPTS",
    "EVENT_RETENTION_DAYS",
];

/// Edits between a variable's name and a known one up to which it is taken for that one misspelt.
const MISSPELT: usize = 3;

/// How the names begin of which one may be meant for a setting: those of the known ones, and what one would guess.
const OURS: [&str; 10] = [
    "EVENT_BUS_",
    "EVENT_CONCURRENCY",
    "EVENT_DEAD_",
    "EVENT_LEASE",
    "EVENT_LEDGER_",
    "EVENT_MAX_",
    "EVENT_POLL",
    "EVENT_QUEUE_",
    "EVENT_RETENTION",
    "EVENT_TIMEOUT",
];

/// Refuses a name that is nearly a known one, and warns of those that only begin as if they were settings.
pub(crate) fn check(names: impl Iterator<Item = String>) -> Result<(), InvalidSetting> {
    let mut unknown: Vec<_> = names.filter(|name| !KNOWN.contains(&name.as_str())).collect();
    for name in unknown.iter().filter(|name| name.starts_with("EVENT_")) {
        let nearest = KNOWN.into_iter().min_by_key(|known| strsim::damerau_levenshtein(name, known));
        if let Some(meant) = nearest.filter(|known| strsim::damerau_levenshtein(name, known) <= MISSPELT) {
            return Err(InvalidSetting::new(name, "(set)", format!("unknown; did you mean {meant}?")));
        }
    }
    // No error, since they may be somebody else's, such as those that Kubernetes makes of a service's name.
    unknown.retain(|name| begins_as_ours(name));
    unknown.sort_unstable();
    if !unknown.is_empty() {
        tracing::warn!(
            name: "outbox.settings.unknown",
            "no settings of the outbox, so without effect: {}. The settings are {}",
            unknown.join(", "),
            KNOWN.join(", "),
        );
    }
    Ok(())
}

fn begins_as_ours(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    OURS.iter().any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Seek};

    use super::*;

    /// The outcome for these names, and what was logged.
    fn checked(names: &[&str]) -> (Result<(), InvalidSetting>, String) {
        let mut log = tempfile::tempfile().expect("a temporary file");
        let writer = log.try_clone().expect("a second handle");
        let subscriber =
            tracing_subscriber::fmt().with_ansi(false).with_writer(std::sync::Mutex::new(writer)).finish();
        let names = names.iter().map(|name| (*name).to_owned());
        let outcome = tracing::subscriber::with_default(subscriber, || check(names));
        let mut text = String::new();
        log.rewind().and_then(|()| log.read_to_string(&mut text)).expect("the log can be read");
        (outcome, text)
    }

    #[test]
    fn a_misspelt_variable_is_named_with_the_one_that_exists() {
        let text = checked(&["PATH", "EVENT_CONCURENCY"]).0.unwrap_err().to_string();
        assert_eq!(text, "EVENT_CONCURENCY = (set): unknown; did you mean EVENT_CONCURRENCY?");
    }

    #[test]
    fn known_variables_and_those_of_others_pass_in_silence() {
        let of_others = ["EVENT_STORE_SERVICE_HOST", "EVENT_SOURCE", "EVENTS", "QUEUE_URL"];
        for names in [KNOWN.as_slice(), of_others.as_slice()] {
            let (outcome, log) = checked(names);
            assert!(outcome.is_ok(), "{outcome:?}");
            assert_eq!(log, "");
        }
    }

    #[test]
    fn a_variable_that_begins_as_a_setting_and_is_none_is_warned_of() {
        for name in [
            "EVENT_QUEUE_BATCH_SIZE",
            "EVENT_LEDGER_PATH_OF_FILE",
            "EVENT_RETENTION_IN_MONTHS",
            "EVENT_DEAD_LETTER_LIMIT",
            "EVENT_CONCURRENCY_PER_TYPE",
            "EVENT_POLL_INTERVAL_MILLIS",
            "EVENT_BUS_SERVICE_PORT",
            "EVENT_MAX_ATTEMPTS",
            "EVENT_LEASE",
            "EVENT_TIMEOUT",
            "event_concurrency",
        ] {
            let (outcome, log) = checked(&["PATH", name]);
            assert!(outcome.is_ok(), "{outcome:?}");
            assert!(
                log.contains("WARN") && log.contains(&format!("without effect: {name}.")),
                "{name}: {log}"
            );
            assert!(log.contains("EVENT_QUEUE_MAX_ATTEMPTS"), "the settings are listed: {log}");
        }
    }
}
