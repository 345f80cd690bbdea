//! Which migrations a database has, in a table of our own.

use outbox_core::{StoreError, StoreErrorKind, Timestamp};
use sqlx::SqliteConnection;

use super::error::{MigrateError, failed};
use super::script::{MIGRATIONS, Migration, Names, newest};

/// A migration that the database has.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) migration: &'static Migration,
    /// What was there already when it ran.
    pub(super) kept: Names,
}

/// Reads the history, and checks that it is the beginning of ours. Writes nothing.
pub(super) async fn read(connection: &mut SqliteConnection) -> Result<Vec<Entry>, MigrateError> {
    let failed = failed("read the history of migrations");
    let exists = sqlx::query_scalar(include_str!("../sql/migrate_history_exists.sql"));
    if !exists.fetch_one(&mut *connection).await.map_err(&failed)? {
        return Ok(Vec::new());
    }
    let rows = sqlx::query_as(include_str!("../sql/migrate_read_history.sql"));
    check(rows.fetch_all(connection).await.map_err(&failed)?)
}

/// Notes that a migration was applied.
pub(super) async fn record(
    connection: &mut SqliteConnection,
    migration: &Migration,
    kept: &Names,
    now: Timestamp,
) -> Result<(), MigrateError> {
    let failed = failed("write the history of migrations");
    sqlx::query(include_str!("../sql/migrate_create_history.sql"))
        .execute(&mut *connection)
        .await
        .map_err(&failed)?;
    sqlx::query(include_str!("../sql/migrate_record.sql"))
        .bind(migration.version)
        .bind(migration.name)
        .bind(migration.checksum())
        .bind(now.as_millis())
        .bind(serde_json::json!(kept).to_string())
        .execute(connection)
        .await
        .map_err(&failed)?;
    Ok(())
}

/// Notes that a migration was reversed; with the first one goes the table.
pub(super) async fn forget(
    connection: &mut SqliteConnection,
    migration: &Migration,
) -> Result<(), MigrateError> {
    let failed = failed("write the history of migrations");
    if migration.version == 1 {
        sqlx::query(include_str!("../sql/migrate_drop_history.sql"))
            .execute(connection)
            .await
            .map_err(&failed)?;
        return Ok(());
    }
    sqlx::query(include_str!("../sql/migrate_forget.sql"))
        .bind(migration.version)
        .execute(connection)
        .await
        .map_err(&failed)?;
    Ok(())
}

type Row = (u32, String, String, String);

fn check(rows: Vec<Row>) -> Result<Vec<Entry>, MigrateError> {
    if let Some((found, ..)) = rows.last().filter(|(version, ..)| *version > newest()) {
        return Err(MigrateError::Newer { found: *found, known: newest() });
    }
    let mut entries = Vec::new();
    for (migration, (version, name, checksum, kept)) in MIGRATIONS.iter().zip(rows) {
        if version != migration.version {
            return Err(MigrateError::Gap { version: migration.version });
        }
        if checksum != migration.checksum() {
            return Err(MigrateError::Altered { version, name });
        }
        let kept = serde_json::from_str(&kept).map_err(|error| {
            let what = format!("column kept of outbox_migrations, version {version}, holds {kept:?}");
            StoreError::with_source(StoreErrorKind::Corrupt, what, error)
        })?;
        entries.push(Entry { migration, kept });
    }
    Ok(entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(version: u32) -> Row {
        let migration = MIGRATIONS.iter().find(|migration| migration.version == version);
        let checksum = migration.map_or("?".to_owned(), Migration::checksum);
        (version, "name".to_owned(), checksum, "[]".to_owned())
    }

    #[test]
    fn a_history_that_is_the_beginning_of_ours_is_right() {
        assert_eq!(check(vec![]).unwrap().len(), 0);
        assert_eq!(check(vec![row(1)]).unwrap().len(), 1);
        assert_eq!(check(vec![row(1), row(2)]).unwrap().len(), 2);
    }

    #[test]
    fn a_history_that_is_newer_has_a_gap_or_was_altered_is_told_apart() {
        let newer = check(vec![row(1), row(2), row(newest() + 7)]).unwrap_err();
        assert!(matches!(newer, MigrateError::Newer { found, .. } if found == newest() + 7), "{newer}");
        let gap = check(vec![row(2)]).unwrap_err();
        assert!(matches!(gap, MigrateError::Gap { version: 1 }), "{gap}");
        let altered =
            check(vec![row(1), (2, "ledger".to_owned(), "0".repeat(64), "[]".to_owned())]).unwrap_err();
        assert!(altered.to_string().contains("0002_ledger"), "{altered}");
    }
}
