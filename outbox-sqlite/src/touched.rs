//! Rows that were changed by hand, and what follows from that: the scratch table `touched` and the statements that work on it.

use sqlx::AssertSqlSafe;
use sqlx::sqlite::SqliteConnection;

/// Makes rows, given as `[[row, …]]`, the ones that `requeue.sql` and `wake_key.sql` work on.
pub(crate) async fn touch(connection: &mut SqliteConnection, rows: &str) -> Result<(), sqlx::Error> {
    sqlx::query(include_str!("sql/clear_touched.sql")).execute(&mut *connection).await?;
    sqlx::query(include_str!("sql/admin_touch.sql")).bind(rows).execute(connection).await?;
    Ok(())
}

/// Puts the touched rows where the ledger wants them, for any worker to look at, and wakes later events of their keys.
pub(crate) async fn requeue(connection: &mut SqliteConnection, now: i64) -> Result<(), sqlx::Error> {
    const TEXT: &str = concat!(include_str!("sql/requeue.sql"), include_str!("sql/wake_key.sql"));
    const ANYONE: &str = r#"{"handlers":[],"anyone":1}"#;
    run(connection, TEXT, Some(ANYONE), now).await
}

/// Later events of the keys of the touched rows may be looked at.
pub(crate) async fn wake_keys(connection: &mut SqliteConnection, now: i64) -> Result<(), sqlx::Error> {
    run(connection, include_str!("sql/wake_key.sql"), None, now).await
}

/// Runs statements of the writer, of whose arguments there are the worker `$6` and the time `$9`.
async fn run(
    connection: &mut SqliteConnection,
    text: &'static str,
    worker: Option<&str>,
    now: i64,
) -> Result<(), sqlx::Error> {
    let mut query = sqlx::query(AssertSqlSafe(text));
    for place in 1..=8 {
        query = query.bind(worker.filter(|_| place == 6));
    }
    query.bind(now).fetch_all(connection).await?;
    Ok(())
}
