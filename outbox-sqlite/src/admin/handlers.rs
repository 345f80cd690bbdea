//! The listed handlers, and how one is retired.

use outbox_core::{ListedHandler, StoreError, Timestamp};
use serde_json::{Value, json};

use super::reader;
use super::steps::{Breath, STEP};
use crate::error::store_error;
use crate::store::Store;
use crate::touched::{requeue, touch};

pub(super) async fn list(store: &Store) -> Result<Vec<ListedHandler>, StoreError> {
    let query = sqlx::query_as(include_str!("../sql/admin_handlers.sql"));
    let rows: Vec<(String, String, i64, i64)> = query
        .fetch_all(&mut *reader(store).await?)
        .await
        .map_err(|error| store_error("list handlers", error))?;
    let listed = rows.into_iter().map(|(event_type, handler, first, last)| ListedHandler {
        event_type,
        handler,
        first_seen: Timestamp::from_millis(first),
        last_seen: Timestamp::from_millis(last),
    });
    Ok(listed.collect())
}

/// Retires a handler, then looks, in steps, at what waited for it. A call that was cut off can be repeated.
pub(super) async fn forget(store: &Store, name: &str) -> Result<u64, StoreError> {
    let waiting = count_waiting(store, name).await?;
    let types = types_of(store, name).await?;
    let handler = name.to_owned();
    let forgotten = store.writer()?.transaction(move |connection| {
        Box::pin(async move {
            let forget = sqlx::query(include_str!("../sql/admin_forget.sql")).bind(handler);
            forget.execute(connection).await.map_err(|error| store_error("retire a handler", error))?;
            Ok(())
        })
    });
    forgotten.await?;
    release_waiting(store, name, types).await?;
    release_rest(store, name).await?;
    Ok(waiting)
}

async fn count_waiting(store: &Store, name: &str) -> Result<u64, StoreError> {
    let count = sqlx::query_scalar(include_str!("../sql/admin_forget_count.sql")).bind(name);
    let count: Result<i64, _> = count.fetch_one(&mut *reader(store).await?).await;
    Ok(count.map_err(|error| store_error("count the events of a handler", error))?.unsigned_abs())
}

/// The types and patterns for which the handler is listed, as a JSON array.
async fn types_of(store: &Store, name: &str) -> Result<String, StoreError> {
    let types = sqlx::query_scalar(include_str!("../sql/admin_forget_types.sql")).bind(name);
    let types: Result<String, _> = types.fetch_one(&mut *reader(store).await?).await;
    types.map_err(|error| store_error("look up the types of a handler", error))
}

/// A waiting row, 0 if there is none, and its event.
type Row = (i64, String);

/// Lets go, page by page, of the rows that wait for something: perhaps it was this handler.
async fn release_waiting(store: &Store, name: &str, types: String) -> Result<(), StoreError> {
    let mut after = i64::MIN;
    let mut breath = Breath::new();
    loop {
        let page = sqlx::query_as(include_str!("../sql/admin_forget_rows.sql"))
            .bind(&types)
            .bind(after)
            .bind(STEP as i64);
        let rows: Result<Vec<Row>, _> = page.fetch_all(&mut *reader(store).await?).await;
        let rows = rows.map_err(|error| store_error("look up the events of a retired handler", error))?;
        let Some((last, _)) = rows.last() else { return Ok(()) };
        after = *last;
        release(store, name, rows).await?;
        breath.take().await;
    }
}

/// Lets go of what else the handler is still due for, such as events that are in a worker's hands.
async fn release_rest(store: &Store, name: &str) -> Result<(), StoreError> {
    let mut breath = Breath::new();
    loop {
        let page = sqlx::query_as(include_str!("../sql/admin_forget_rest.sql")).bind(name).bind(STEP as i64);
        let rows: Result<Vec<Row>, _> = page.fetch_all(&mut *reader(store).await?).await;
        let rows = rows.map_err(|error| store_error("look up the claims of a retired handler", error))?;
        if rows.is_empty() {
            return Ok(());
        }
        release(store, name, rows).await?;
        breath.take().await;
    }
}

/// Deletes what the handler was to do for these events, and puts the rows where the ledger then wants them.
async fn release(store: &Store, name: &str, rows: Vec<Row>) -> Result<(), StoreError> {
    let now = store.clock.now().as_millis();
    let handler = name.to_owned();
    let rows = Value::from(rows.iter().map(|row| json!(row)).collect::<Vec<_>>()).to_string();
    let released = store.writer()?.transaction(move |connection| {
        Box::pin(async move {
            let released = async {
                let claims = sqlx::query(include_str!("../sql/admin_forget_claims.sql"));
                claims.bind(handler).bind(&rows).execute(&mut *connection).await?;
                touch(connection, &rows).await?;
                requeue(connection, now).await
            };
            released.await.map_err(|error| store_error("release the events of a retired handler", error))
        })
    });
    released.await
}
