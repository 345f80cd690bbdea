//! Listing a worker's handlers, so that rows wait for them.

use std::sync::Arc;
use std::time::Duration;

use outbox_core::StoreError;
use serde_json::{Value, json};
use sqlx::sqlite::SqliteConnection;

use crate::error::store_error;
use crate::store::Store;
use crate::stranded;
use crate::subscriber::Subscriber;

/// Most rows that one step changes.
const STEP: i64 = 1_000;

/// For how long a start looks for rows that are held back for other handlers alone. Upkeep goes on with the rest.
const LOOK: Duration = Duration::from_secs(2);

/// Lists the handlers. Rows that wait were put aside without the ones that are new, so they are looked at again, in steps.
/// A worker that dies on the way leaves that to the next one.
pub(crate) async fn list_handlers(store: &Store, subscriber: &Arc<Subscriber>) -> Result<(), StoreError> {
    let now = store.clock.now();
    let new = list(store, subscriber, now.as_millis()).await?;
    if !new.is_empty() {
        let types = new.iter().map(|event_type| json!({ "event_type": event_type })).collect::<Vec<_>>();
        let types = Value::from(types).to_string();
        while look_again(store, &types, now.as_millis()).await? > 0 {}
        while look_beside_runs(store, &types, now.as_millis()).await? > 0 {}
        stranded::wake(store, subscriber, now, LOOK).await?;
        have_looked(store, subscriber, now.as_millis()).await?;
    }
    Ok(())
}

/// Returns the types or patterns of those that are new.
async fn list(store: &Store, subscriber: &Arc<Subscriber>, now: i64) -> Result<Vec<String>, StoreError> {
    let handlers = subscriber.handlers.clone();
    let listed = store.writer()?.transaction(move |connection| {
        Box::pin(async move {
            let query = sqlx::query_scalar(include_str!("sql/subscribe_new.sql")).bind(&handlers);
            let new: Result<Vec<String>, _> = query.fetch_all(&mut *connection).await;
            let new = new.map_err(|e| store_error("list handlers", e))?;
            write(connection, &handlers, now, !new.is_empty()).await?;
            Ok(new)
        })
    });
    listed.await
}

async fn have_looked(store: &Store, subscriber: &Arc<Subscriber>, now: i64) -> Result<(), StoreError> {
    let handlers = subscriber.handlers.clone();
    let written = store.writer()?.transaction(move |connection| {
        Box::pin(async move { write(connection, &handlers, now, false).await })
    });
    written.await
}

async fn write(
    connection: &mut SqliteConnection,
    handlers: &str,
    now: i64,
    is_to_look: bool,
) -> Result<(), StoreError> {
    let list = sqlx::query(include_str!("sql/subscribe.sql")).bind(now).bind(handlers).bind(is_to_look);
    list.execute(connection).await.map_err(|e| store_error("list handlers", e))?;
    Ok(())
}

/// One step: at most 1,000 rows of these types or patterns that wait for other handlers.
async fn look_again(store: &Store, types: &str, now: i64) -> Result<u64, StoreError> {
    let types = types.to_owned();
    let looked = store.writer()?.transaction(move |connection| {
        Box::pin(async move {
            let step = sqlx::query(include_str!("sql/subscribe_look_again.sql")).bind(now).bind(types);
            let done = step.execute(connection).await;
            Ok(done.map_err(|e| store_error("look at waiting rows again", e))?.rows_affected())
        })
    });
    looked.await
}

/// One step: at most [`STEP`] rows of these types or patterns on which another handler still runs.
async fn look_beside_runs(store: &Store, types: &str, now: i64) -> Result<u64, StoreError> {
    let failed = |e| store_error("look at rows that others still run on", e);
    let types = types.to_owned();
    let running = store.read(move |connection| {
        Box::pin(async move {
            let running = sqlx::query_scalar(include_str!("sql/subscribe_running.sql"));
            running.bind(now).bind(types).bind(STEP).fetch_all(connection).await.map_err(failed)
        })
    });
    let rows: Vec<i64> = running.await?;
    if rows.is_empty() {
        return Ok(0);
    }
    let rows = Value::from(rows).to_string();
    let woken = store.writer()?.transaction(move |connection| {
        Box::pin(async move {
            let due = sqlx::query(include_str!("sql/subscribe_due.sql")).bind(now).bind(rows);
            Ok(due.execute(connection).await.map_err(failed)?.rows_affected())
        })
    });
    woken.await
}
