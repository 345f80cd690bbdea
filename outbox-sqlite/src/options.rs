//! What can be set on a store, with its defaults and bounds.

use std::time::Duration;

use outbox_core::{InvalidSetting, seconds};
use sqlx::sqlite::SqliteSynchronous;

/// Settings of a SQLite store.
///
/// `synchronous`, `pool_size` and the statements' `busy_timeout` are about a pool that the store opens itself. A pool that
/// the application brings is used as it is: nothing about its connections is changed.
///
/// ```
/// use std::time::Duration;
/// use outbox_sqlite::SqliteOptions;
///
/// let options = SqliteOptions { queue_lease: Duration::from_secs(10), ..SqliteOptions::default() };
/// assert!(options.validate().is_ok());
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqliteOptions {
    /// For how long a claimed row stays with its worker unless the worker renews it, which it does every third of it.
    /// Default 60 s; 100 ms to 1 day. `EVENT_QUEUE_LEASE_SECONDS`.
    pub queue_lease: Duration,
    /// What a commit waits for. Default [`Synchronous::Full`].
    pub synchronous: Synchronous,
    /// How long a statement waits for another connection's lock, and [`SqliteOutbox::begin`](crate::SqliteOutbox::begin)
    /// for its turn. Default 5 s; up to 10 minutes.
    pub busy_timeout: Duration,
    /// Most connections of the pool. The store's own (one writes, one reads, one watches) come on top.
    /// Default 8; 1 to 1,000.
    pub pool_size: u32,
}

/// What a commit waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Synchronous {
    /// For the disk: what is committed survives a crash of the process, of the system, and a loss of power. Claims alone
    /// do not wait for it: one that the power takes back is made again, without having been counted as an attempt.
    #[default]
    Full,
    /// For the operating system only: several times faster for single commits. What is committed survives a crash of
    /// the process. A loss of power or a crash of the system may take back the last commits: the database stays
    /// consistent, but an event that was reported as enqueued can be gone, and a handler that was marked as done can
    /// run again.
    Normal,
}

impl Synchronous {
    pub(crate) fn pragma(self) -> SqliteSynchronous {
        match self {
            Self::Full => SqliteSynchronous::Full,
            Self::Normal => SqliteSynchronous::Normal,
        }
    }
}

impl Default for SqliteOptions {
    fn default() -> Self {
        Self {
            queue_lease: Duration::from_secs(60),
            synchronous: Synchronous::Full,
            busy_timeout: Duration::from_secs(5),
            pool_size: 8,
        }
    }
}

const LEASE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(86_400));
const BUSY: (Duration, Duration) = (Duration::ZERO, Duration::from_secs(600));

impl SqliteOptions {
    /// The defaults, changed by `EVENT_QUEUE_LEASE_SECONDS` if it is set.
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
        let default = Self::default();
        let queue_lease = seconds(&lookup, "EVENT_QUEUE_LEASE_SECONDS", default.queue_lease, LEASE)?;
        Ok(Self { queue_lease, ..default })
    }

    /// Checks every bound.
    ///
    /// # Errors
    ///
    /// The first setting that is out of bounds.
    pub fn validate(&self) -> Result<(), InvalidSetting> {
        let queue_lease = "queue_lease (EVENT_QUEUE_LEASE_SECONDS)";
        InvalidSetting::check_duration(queue_lease, self.queue_lease, LEASE)?;
        InvalidSetting::check_duration("busy_timeout", self.busy_timeout, BUSY)?;
        if !(1..=1_000).contains(&self.pool_size) {
            return Err(InvalidSetting::new(
                "pool_size",
                self.pool_size,
                "must be a whole number from 1 to 1000",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_changes_the_lease() {
        let options = SqliteOptions::from_lookup(|name| {
            (name == "EVENT_QUEUE_LEASE_SECONDS").then(|| "1.5".to_owned())
        });
        assert_eq!(options.unwrap().queue_lease, Duration::from_millis(1500));
        assert_eq!(SqliteOptions::from_lookup(|_| None).unwrap(), SqliteOptions::default());
    }

    #[test]
    fn a_bad_variable_is_named_with_its_value_and_what_is_allowed() {
        let error = SqliteOptions::from_lookup(|_| Some("soon".to_owned())).unwrap_err().to_string();
        assert_eq!(
            error,
            "EVENT_QUEUE_LEASE_SECONDS = \"soon\": must be a number of seconds from 0.1 to 86400"
        );
    }

    #[test]
    fn values_out_of_bounds_are_named() {
        let default = SqliteOptions::default;
        for (options, name) in [
            (
                SqliteOptions { queue_lease: Duration::ZERO, ..default() },
                "queue_lease (EVENT_QUEUE_LEASE_SECONDS) = 0ns: must be a duration from 100ms to 1 day",
            ),
            (SqliteOptions { busy_timeout: Duration::MAX, ..default() }, "busy_timeout"),
            (SqliteOptions { pool_size: 0, ..default() }, "pool_size = 0"),
        ] {
            let error = options.validate().unwrap_err().to_string();
            assert!(error.starts_with(name), "{error}");
        }
    }
}
