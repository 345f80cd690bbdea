//! The listed handlers, and how one is retired.

use outbox_core::{ListedHandler, StoreError, Timestamp};
use serde_json::{Value, json};
use sqlx::AssertSqlSafe;
use sqlx::sqlite::SqliteConnection;

use super::{BREATH, STEP};
use crate::error::store_error;
use crate::store::Store;

pub(super) async fn list(store: &Store) -> Result<Vec<ListedHandler>, StoreError> {
    let rows: Vec<(String, String, i64, i64)> = store
        .read(|connection| {
            Box::pin(async move {
                let rows =
                    sqlx::query_as(include_str!("../sql/admin_handlers.sql")).fetch_all(connection).await;
                rows.map_err(|e| store_error("list handlers", e))
            })
        })
        .await?;
    let listed = rows.into_iter().map(|(event_type, handler, first, last)| ListedHandler {
        event_type,
        handler,
        first_seen: Timestamp::from_millis(first),
        last_seen: Timestamp::from_millis(last),
    });
    Ok(listed.collect())
}

/// Retires a handler, then looks, in steps, at the rows that waited for it.
pub(super) async fn forget(store: &Store, name: &str) -> Result<u64, StoreError> {
    let handler = name.to_owned();
    let waiting: i64 = store
        .read(move |connection| {
            Box::pin(async move {
                let count = sqlx::query_scalar(include_str!("../sql/admin_forget_count.sql")).bind(handler);
                count.fetch_one(connection).await.map_err(|e| store_error("count the events of a handler", e))
            })
        })
        .await?;
    let handler = name.to_owned();
    store
        .writer()?
        .transaction(move |connection| {
            Box::pin(async move {
                let forget = sqlx::query(include_str!("../sql/admin_forget.sql")).bind(handler);
                forget.execute(connection).await.map_err(|e| store_error("retire a handler", e))?;
                Ok(())
            })
        })
        .await?;
    while forget_step(store, name).await? > 0 {
        tokio::time::sleep(BREATH).await;
    }
    Ok(waiting.unsigned_abs())
}

async fn forget_step(store: &Store, name: &str) -> Result<usize, StoreError> {
    let now = store.clock.now().as_millis();
    let handler = name.to_owned();
    store
        .writer()?
        .transaction(move |connection| {
            Box::pin(async move {
                let step = forget_rows(connection, &handler, now).await;
                step.map_err(|e| store_error("release the events of a retired handler", e))
            })
        })
        .await
}

async fn forget_rows(
    connection: &mut SqliteConnection,
    handler: &str,
    now: i64,
) -> Result<usize, sqlx::Error> {
    let rows: Vec<(Option<i64>, String)> = sqlx::query_as(include_str!("../sql/admin_forget_rows.sql"))
        .bind(handler)
        .bind(STEP as i64)
        .fetch_all(&mut *connection)
        .await?;
    let all = Value::from(rows.iter().map(|(row, event_id)| json!([row, event_id])).collect::<Vec<_>>())
        .to_string();
    let waiting = rows.iter().filter_map(|(row, _)| row.map(|row| json!([row])));
    let waiting = Value::from(waiting.collect::<Vec<_>>()).to_string();
    let forget = sqlx::query(include_str!("../sql/admin_forget_claims.sql")).bind(handler).bind(all);
    forget.execute(&mut *connection).await?;
    requeue(connection, waiting, now).await?;
    Ok(rows.len())
}

/// Puts rows, given as `[[row]]`, where the ledger wants them, for any worker to look at.
async fn requeue(connection: &mut SqliteConnection, rows: String, now: i64) -> Result<(), sqlx::Error> {
    touch(connection, rows).await?;
    const TEXT: &str = concat!(include_str!("../sql/requeue.sql"), include_str!("../sql/wake_key.sql"));
    let mut query = sqlx::query(AssertSqlSafe(TEXT));
    for _ in 1..=5 {
        query = query.bind(None::<String>);
    }
    let query =
        query.bind(r#"{"handlers":[],"anyone":1}"#).bind(None::<String>).bind(None::<String>).bind(now);
    query.fetch_all(connection).await?;
    Ok(())
}

/// Makes rows, given as `[[row]]`, the ones that `requeue.sql` and `wake_key.sql` work on.
pub(super) async fn touch(connection: &mut SqliteConnection, rows: String) -> Result<(), sqlx::Error> {
    sqlx::query(include_str!("../sql/clear_touched.sql")).execute(&mut *connection).await?;
    sqlx::query(include_str!("../sql/admin_touch.sql")).bind(rows).execute(connection).await?;
    Ok(())
}
