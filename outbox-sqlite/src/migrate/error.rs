//! Why a database could not be migrated.

use outbox_core::{StoreError, StoreErrorKind};

use crate::error::store_error;

/// Why [`migrate`](crate::migrate) or [`migrate_down`](crate::migrate_down) stopped. Every migration is a transaction:
/// the one that failed changed nothing, those before it stay.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum MigrateError {
    /// The database failed.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// The database was migrated by a newer version of the library. Nothing was changed.
    #[error(
        "the database is at version {found} of the outbox's tables and this library knows {known}: deploy a newer library"
    )]
    Newer {
        /// The database's version.
        found: u32,
        /// The newest version that this library knows.
        known: u32,
    },
    /// A migration that the database has is not the one of this library. Nothing was changed.
    #[error(
        "migration {version:04}_{name} is not the one that this database was migrated with: its text was altered (line ends do not count); restore it and put the change into a migration of its own"
    )]
    Altered {
        /// Its number.
        version: u32,
        /// Its name.
        name: String,
    },
    /// The history lacks a migration before its last one. Nothing was changed.
    #[error(
        "the table outbox_migrations lacks version {version}: restore its row, or the database, from a backup"
    )]
    Gap {
        /// The number that is missing.
        version: u32,
    },
    /// The database holds tables of the outbox's names that cannot be adopted. Nothing was changed.
    #[error(
        "the database holds tables of the outbox's names that differ from what it needs:{}\nchange them so, or rename them",
        list(differences)
    )]
    Differs {
        /// What differs: one sentence each, naming table and column.
        differences: Vec<String>,
    },
    /// There is no such version to go down to.
    #[error("there is no version {asked} of the outbox's tables: 0 (none) to {known}")]
    UnknownVersion {
        /// What was asked for.
        asked: u32,
        /// The newest version that this library knows.
        known: u32,
    },
}

impl MigrateError {
    /// The kind, for decisions.
    #[must_use]
    pub fn kind(&self) -> StoreErrorKind {
        match self {
            Self::Store(error) => error.kind(),
            Self::UnknownVersion { .. } => StoreErrorKind::Invalid,
            _ => StoreErrorKind::Corrupt,
        }
    }

    /// Whether another connection is in the way, so that trying again helps.
    pub(super) fn is_busy(&self) -> bool {
        self.kind() == StoreErrorKind::Busy
    }
}

fn list(differences: &[String]) -> String {
    differences.iter().map(|difference| format!("\n  {difference}")).collect()
}

/// Converts the driver's errors, saying what was tried.
pub(super) fn failed(what: &str) -> impl Fn(sqlx::Error) -> MigrateError {
    move |error| store_error(what, error).into()
}
