//! What can be set on a worker, with its defaults and bounds.

use std::time::Duration;

use super::setting::{InvalidSetting, seconds, whole_number};
use crate::{Backoff, OnDead, Retention, Unhandled};

/// Settings of a [`Worker`](crate::Worker).
///
/// ```
/// use std::time::Duration;
/// use outbox_core::WorkerSettings;
///
/// let settings = WorkerSettings { concurrency: 4, grace: Duration::from_secs(5), ..WorkerSettings::default() };
/// assert!(settings.validate().is_ok());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerSettings {
    /// Most handler runs at a time. Default 64; 1 to 10,000. `EVENT_CONCURRENCY`.
    pub concurrency: usize,
    /// How many attempts a handler has unless it says otherwise. Default 10; at least 1. `EVENT_QUEUE_MAX_ATTEMPTS`.
    pub max_attempts: u32,
    /// Lease of a claim, renewed every third of it. Default 60 s; 100 ms to 1 day. `EVENT_LEDGER_LEASE_SECONDS`.
    pub lease: Duration,
    /// Longest run of a handler. Default 60 s; above 0, up to 1 day.
    pub timeout: Duration,
    /// Longest run of a handler with a transaction, which keeps every other writer waiting. Default 2 s; above 0, up
    /// to 1 day.
    pub transaction_timeout: Duration,
    /// How often to look for work when no wake-up comes. Default 1 s; 1 ms to 1 hour. `EVENT_POLL_SECONDS`.
    pub poll: Duration,
    /// Schedule of retries. Default 5 s doubling up to 300 s.
    pub backoff: Backoff,
    /// How long running handlers may take to finish at shutdown. Default 15 s; up to 1 day.
    pub grace: Duration,
    /// What to do with types that nobody handles. Default: they wait.
    pub unhandled: Unhandled,
    /// What dead letters mean for later events of their key, unless the handler says otherwise. Default: they go on.
    pub on_dead: OnDead,
    /// How long finished things are kept. `EVENT_RETENTION_DAYS`, `EVENT_DEAD_RETENTION_DAYS`,
    /// `EVENT_LEDGER_RETENTION_DAYS`.
    pub retention: Retention,
    /// How often regular upkeep runs. Default 60 s; 10 ms to 1 day.
    pub upkeep_interval: Duration,
}

const DAY: Duration = Duration::from_secs(86_400);

impl Default for WorkerSettings {
    fn default() -> Self {
        Self {
            concurrency: 64,
            max_attempts: 10,
            lease: Duration::from_secs(60),
            timeout: Duration::from_secs(60),
            transaction_timeout: Duration::from_secs(2),
            poll: Duration::from_secs(1),
            backoff: Backoff::default(),
            grace: Duration::from_secs(15),
            unhandled: Unhandled::default(),
            on_dead: OnDead::default(),
            retention: Retention::default(),
            upkeep_interval: Duration::from_secs(60),
        }
    }
}

impl WorkerSettings {
    /// The defaults, changed by the variables `EVENT_*` of the environment that are set.
    ///
    /// # Errors
    ///
    /// [`InvalidSetting`], naming the variable, the value and what is allowed.
    pub fn from_env() -> Result<Self, InvalidSetting> {
        Self::from_lookup(|name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned()))
    }

    /// As [`from_env`](Self::from_env), from any source of variables.
    ///
    /// # Errors
    ///
    /// As [`from_env`](Self::from_env).
    pub fn from_lookup(lookup: impl Fn(&str) -> Option<String>) -> Result<Self, InvalidSetting> {
        let days = |name, default| whole_number(&lookup, name, default, 1, 36_500).map(|days| DAY * days);
        let default = Self::default();
        let settings = Self {
            concurrency: whole_number(&lookup, "EVENT_CONCURRENCY", 64, 1, 10_000)? as usize,
            max_attempts: whole_number(
                &lookup,
                "EVENT_QUEUE_MAX_ATTEMPTS",
                default.max_attempts,
                1,
                u32::MAX,
            )?,
            lease: seconds(&lookup, "EVENT_LEDGER_LEASE_SECONDS", default.lease, LEASE)?,
            poll: seconds(&lookup, "EVENT_POLL_SECONDS", default.poll, POLL)?,
            retention: Retention {
                done: days("EVENT_RETENTION_DAYS", 7)?,
                dead: days("EVENT_DEAD_RETENTION_DAYS", 90)?,
                ledger: days("EVENT_LEDGER_RETENTION_DAYS", 30)?,
            },
            ..default
        };
        settings.validate()?;
        Ok(settings)
    }

    /// Checks every bound, and the settings against each other.
    ///
    /// # Errors
    ///
    /// The first setting that is out of bounds.
    pub fn validate(&self) -> Result<(), InvalidSetting> {
        if !(1..=10_000).contains(&self.concurrency) {
            let name = "concurrency (EVENT_CONCURRENCY)";
            return Err(InvalidSetting::new(
                name,
                self.concurrency,
                "must be a whole number from 1 to 10000",
            ));
        }
        if self.max_attempts == 0 {
            let name = "max_attempts (EVENT_QUEUE_MAX_ATTEMPTS)";
            return Err(InvalidSetting::new(name, 0, "must be a whole number of at least 1"));
        }
        for (name, value, bounds) in [
            ("lease (EVENT_LEDGER_LEASE_SECONDS)", self.lease, LEASE),
            ("timeout", self.timeout, RUN),
            ("transaction_timeout", self.transaction_timeout, RUN),
            ("poll (EVENT_POLL_SECONDS)", self.poll, POLL),
            ("grace", self.grace, (Duration::ZERO, DAY)),
            ("upkeep_interval", self.upkeep_interval, (Duration::from_millis(10), DAY)),
            ("backoff.base", self.backoff.base, RUN),
            ("backoff.cap", self.backoff.cap, (self.backoff.base, DAY)),
        ] {
            InvalidSetting::check_duration(name, value, bounds)?;
        }
        self.validate_retention()
    }

    /// A ledger row that is pruned while its event can still come back would let a handler run again.
    fn validate_retention(&self) -> Result<(), InvalidSetting> {
        let longest_retry = self.backoff.horizon(self.max_attempts).saturating_add(self.lease);
        if self.retention.ledger <= longest_retry {
            let allowed = format!(
                "must exceed the {longest_retry:?} for which a handler may be retried (backoff and max_attempts = {}), or a pruned ledger row lets it run twice",
                self.max_attempts
            );
            return Err(InvalidSetting::new(
                "retention.ledger (EVENT_LEDGER_RETENTION_DAYS)",
                format!("{:?}", self.retention.ledger),
                allowed,
            ));
        }
        Ok(())
    }
}

const LEASE: (Duration, Duration) = (Duration::from_millis(100), DAY);
const RUN: (Duration, Duration) = (Duration::from_millis(1), DAY);
const POLL: (Duration, Duration) = (Duration::from_millis(1), Duration::from_secs(3_600));

#[cfg(test)]
mod tests {
    use super::*;

    fn from(vars: &[(&str, &str)]) -> Result<WorkerSettings, String> {
        let find = |name: &str| vars.iter().find(|(n, _)| *n == name).map(|(_, value)| (*value).to_owned());
        WorkerSettings::from_lookup(find).map_err(|e| e.to_string())
    }

    #[test]
    fn an_empty_environment_gives_the_documented_defaults() {
        assert_eq!(from(&[]), Ok(WorkerSettings::default()));
    }

    #[test]
    fn variables_change_the_defaults() {
        let settings = from(&[
            ("EVENT_CONCURRENCY", "3"),
            ("EVENT_POLL_SECONDS", "0.25"),
            ("EVENT_RETENTION_DAYS", "9"),
        ]);
        let settings = settings.unwrap();
        assert_eq!((settings.concurrency, settings.poll), (3, Duration::from_millis(250)));
        assert_eq!(settings.retention.done, 9 * DAY);
    }

    #[test]
    fn a_bad_value_names_the_variable_the_value_and_what_is_allowed() {
        for (name, value) in [
            ("EVENT_CONCURRENCY", "0"),
            ("EVENT_CONCURRENCY", "many"),
            ("EVENT_QUEUE_MAX_ATTEMPTS", "-1"),
            ("EVENT_LEDGER_LEASE_SECONDS", "NaN"),
            ("EVENT_LEDGER_LEASE_SECONDS", "1e300"),
            ("EVENT_POLL_SECONDS", ""),
            ("EVENT_LEDGER_RETENTION_DAYS", "0"),
        ] {
            let error = from(&[(name, value)]).unwrap_err();
            assert!(
                error.contains(name) && error.contains(&format!("{value:?}")) && error.contains("to"),
                "{error}"
            );
        }
    }

    #[test]
    fn a_ledger_that_forgets_before_the_last_retry_is_refused_naming_both() {
        let mut settings = WorkerSettings::default();
        settings.retention.ledger = Duration::from_secs(2);
        let error = settings.validate().unwrap_err().to_string();
        assert!(error.contains("retention.ledger") && error.contains("max_attempts"), "{error}");
    }
}
