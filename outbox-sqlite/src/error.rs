//! What SQLite and its driver report, in the few kinds that decide what happens next.

use outbox_core::{StoreError, StoreErrorKind};

/// The failure of what was tried: `what` completes "could not …".
///
/// The driver's error stays the source, so that a log shows its code and its words behind ours.
pub(crate) fn store_error(what: &str, error: sqlx::Error) -> StoreError {
    let (kind, hint) = explain(&error);
    let message = match hint {
        "" => format!("could not {what}"),
        hint => format!("could not {what}: {hint}"),
    };
    StoreError::with_source(kind, message, error)
}

/// Whether another connection holds the lock, so that trying again helps.
pub(crate) fn is_busy(error: &sqlx::Error) -> bool {
    explain(error).0 == StoreErrorKind::Busy
}

/// The kind of a driver's error, and what a reader should know or do about it.
fn explain(error: &sqlx::Error) -> (StoreErrorKind, &'static str) {
    use StoreErrorKind::{Corrupt, Full, Invalid, Other, Unavailable};
    match error {
        sqlx::Error::Database(error) => {
            let code = error.code().and_then(|code| code.parse().ok()).unwrap_or_default();
            explain_code(code, error.message())
        }
        sqlx::Error::Configuration(_) | sqlx::Error::InvalidArgument(_) | sqlx::Error::Encode(_) => {
            (Invalid, "")
        }
        sqlx::Error::Io(error) if error.kind() == std::io::ErrorKind::StorageFull => (Full, DISK_FULL),
        sqlx::Error::Io(_) => (Unavailable, ""),
        sqlx::Error::PoolTimedOut => (
            Unavailable,
            "every connection of the pool was in use for too long; a larger pool or shorter transactions help",
        ),
        sqlx::Error::PoolClosed => (Unavailable, "the pool is closed"),
        sqlx::Error::WorkerCrashed => (Unavailable, "the connection's thread has ended"),
        // A value that is not of its column's type: the table is not the one that the statement was written for.
        sqlx::Error::ColumnDecode { .. }
        | sqlx::Error::Decode(_)
        | sqlx::Error::ColumnNotFound(_)
        | sqlx::Error::ColumnIndexOutOfBounds { .. } => (Corrupt, "the tables hold something unexpected"),
        _ => (Other, ""),
    }
}

const DISK_FULL: &str = "no space is left on the disk";

/// The kind of a [result code](https://www.sqlite.org/rescode.html), extended or primary.
fn explain_code(code: i32, message: &str) -> (StoreErrorKind, &'static str) {
    use StoreErrorKind::{Busy, Corrupt, Full, Invalid, Other, ReadOnly, Unavailable};
    const READONLY_DBMOVED: i32 = 1032;
    const IOERR_CORRUPTFS: i32 = 8458;
    match code {
        READONLY_DBMOVED => {
            return (
                Unavailable,
                "the database file was moved or deleted while it was open; restart to open it anew",
            );
        }
        IOERR_CORRUPTFS => return (Corrupt, "the file system under the database is damaged"),
        _ => {}
    }
    // The low byte of an extended code is its primary code.
    match code & 0xff {
        1 if message.starts_with("no such table") || message.starts_with("no such column") => {
            (Corrupt, "the database lacks what this version needs; run `migrate()`")
        }
        3 | 23 => (Unavailable, "access to the database is denied"),
        5 | 6 | 15 => (Busy, "another connection holds the lock"),
        8 => (ReadOnly, "the database is read-only; the file and its directory must be writable"),
        10 => (Unavailable, "the disk reports an error"),
        11 => (Corrupt, "the database is damaged; restore it from a backup"),
        13 => (Full, DISK_FULL),
        22 => (Full, "the file system allows no larger file"),
        14 => (Unavailable, "the file cannot be opened; it and its directory must exist and be accessible"),
        24 | 26 => (Corrupt, "the file is not a SQLite database"),
        18 => (Invalid, "a value is too large for SQLite"),
        19 => (Invalid, "a constraint of the table forbids it"),
        20 => (Corrupt, "the tables hold something unexpected"),
        25 => (Invalid, ""),
        _ => (Other, ""),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_decide_the_kind_whether_extended_or_not() {
        use StoreErrorKind::*;
        for (code, kind) in [
            (5, Busy),           // BUSY
            (517, Busy),         // BUSY_SNAPSHOT
            (262, Busy),         // LOCKED_SHAREDCACHE
            (13, Full),          // FULL
            (8, ReadOnly),       // READONLY
            (1288, ReadOnly),    // READONLY_CANTINIT
            (1032, Unavailable), // READONLY_DBMOVED
            (14, Unavailable),   // CANTOPEN
            (778, Unavailable),  // IOERR_WRITE
            (8458, Corrupt),     // IOERR_CORRUPTFS
            (11, Corrupt),       // CORRUPT
            (26, Corrupt),       // NOTADB
            (2067, Invalid),     // CONSTRAINT_UNIQUE
            (7, Other),          // NOMEM
            (1, Other),          // ERROR
        ] {
            assert_eq!(explain_code(code, "x").0, kind, "code {code}");
        }
    }

    #[test]
    fn a_missing_table_leads_to_migrate() {
        let (kind, hint) = explain_code(1, "no such table: event_queue");
        assert_eq!(kind, StoreErrorKind::Corrupt);
        assert!(hint.contains("migrate()"), "{hint}");
    }

    #[test]
    fn the_message_says_what_was_tried_and_keeps_what_the_driver_said() {
        let error = store_error("claim events", sqlx::Error::PoolClosed);
        assert_eq!(error.to_string(), "could not claim events: the pool is closed");
        assert!(outbox_core::chain(&error).contains("closed pool"));
    }
}
