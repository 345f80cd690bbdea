//! Regular upkeep of the tables, in short steps.

use std::collections::BTreeMap;
use std::sync::Arc;

use outbox_core::{
    OVERDUE, Pruned, Retention, StoreError, StoreErrorKind, Timestamp, Unhandled, Upkeep, UpkeepReport,
};
use sqlx::sqlite::SqliteConnection;

use crate::columns;
use crate::error::store_error;
use crate::store::Store;
use crate::stranded;
use crate::subscriber::Subscriber;
use crate::touched::{touch, wake_keys};

/// Most rows that one step changes: a few milliseconds of the write lock.
const STEP: i64 = 500;

/// One step of pruning, of dealing with types that nobody handles and of waking stranded rows, and what waits after that.
pub(crate) async fn run(
    store: &Store,
    subscriber: &Arc<Subscriber>,
    upkeep: &Upkeep,
) -> Result<UpkeepReport, StoreError> {
    let now = store.clock.now();
    let pruned = prune_step(store, &upkeep.retention, now).await?;
    let unhandled_rows = finish_unhandled(store, upkeep.unhandled, now).await?;
    stranded::wake(store, subscriber, now, stranded::ROUND).await?;
    let more = [pruned.events, pruned.claims, unhandled_rows].iter().any(|rows| *rows >= STEP as u64);
    let seen = look(store, subscriber, now).await?;
    Ok(UpkeepReport {
        pruned_events: pruned.events,
        pruned_claims: pruned.claims,
        unhandled_rows,
        more,
        ..seen
    })
}

/// Reads what waits, on the connection for reading.
async fn look(
    store: &Store,
    subscriber: &Arc<Subscriber>,
    now: Timestamp,
) -> Result<UpkeepReport, StoreError> {
    let handlers = subscriber.handlers.clone();
    store
        .read(move |connection| {
            Box::pin(async move {
                let failed = |e| store_error("look at what waits", e);
                let unhandled_types = sqlx::query(include_str!("sql/upkeep_unhandled.sql"))
                    .fetch_all(&mut *connection)
                    .await
                    .and_then(|rows| columns::texts(&rows, "event_type"))
                    .map_err(failed)?;
                let waiting: Vec<(String, i64)> = sqlx::query_as(include_str!("sql/upkeep_waiting.sql"))
                    .bind(now.as_millis())
                    .bind(&handlers)
                    .fetch_all(&mut *connection)
                    .await
                    .map_err(failed)?;
                let overdue = overdue(&mut *connection, now, &handlers).await.map_err(failed)?;
                let (backlog, oldest): (i64, Option<i64>) =
                    sqlx::query_as(include_str!("sql/upkeep_backlog.sql"))
                        .bind(now.as_millis())
                        .fetch_one(connection)
                        .await
                        .map_err(failed)?;
                Ok(UpkeepReport {
                    unhandled_types,
                    waiting_for: add_up(waiting.into_iter().chain(overdue)).into_iter().collect(),
                    backlog: backlog.unsigned_abs(),
                    oldest: oldest.map(Timestamp::from_millis),
                    ..UpkeepReport::default()
                })
            })
        })
        .await
}

/// Handlers that overdue events wait for, but for events of the types of `handlers`, which are JSON.
pub(crate) async fn overdue(
    connection: &mut SqliteConnection,
    now: Timestamp,
    handlers: &str,
) -> Result<Vec<(String, i64)>, sqlx::Error> {
    let due_by = now.before(OVERDUE).as_millis();
    let query = sqlx::query_as(include_str!("sql/waiting_overdue.sql"));
    query.bind(due_by).bind(handlers).fetch_all(connection).await
}

/// The numbers of events per handler.
pub(crate) fn add_up(handlers: impl IntoIterator<Item = (String, i64)>) -> BTreeMap<String, u64> {
    let mut sums = BTreeMap::new();
    for (handler, events) in handlers {
        *sums.entry(handler).or_default() += events.unsigned_abs();
    }
    sums
}

/// Deletes what retention allows, at most [`STEP`] rows of each table. What may go is looked up first, so that a store
/// with nothing to delete is not written to, and looking past what must stay holds up no writer.
pub(crate) async fn prune_step(
    store: &Store,
    retention: &Retention,
    now: Timestamp,
) -> Result<Pruned, StoreError> {
    let before = [retention.done, retention.dead, retention.ledger].map(|age| now.before(age).as_millis());
    let found = store.read(move |connection| Box::pin(prunable(connection, before))).await?;
    if found.rows.is_empty() && found.claims.is_empty() {
        return Ok(Pruned::default());
    }
    let now = now.as_millis();
    let pruned = store.writer()?.transaction(move |connection| {
        Box::pin(async move {
            let pruned = prune(connection, found, before, now).await;
            pruned.map_err(|e| store_error("prune queue and ledger", e))
        })
    });
    pruned.await
}

/// Rows of the queue and (event, handler) pairs of the ledger that may be deleted.
#[derive(serde::Deserialize)]
struct Prunable {
    rows: Vec<i64>,
    claims: Vec<(String, String)>,
}

async fn prunable(connection: &mut SqliteConnection, before: [i64; 3]) -> Result<Prunable, StoreError> {
    let [done, dead, ledger] = before;
    let query = sqlx::query_scalar::<_, String>(include_str!("sql/prune_find.sql"));
    let found = query.bind(done).bind(dead).bind(ledger).bind(STEP).fetch_one(connection).await;
    let found = found.map_err(|e| store_error("look for what can be pruned", e))?;
    serde_json::from_str(&found)
        .map_err(|e| StoreError::with_source(StoreErrorKind::Corrupt, "cannot read what can be pruned", e))
}

async fn prune(
    connection: &mut SqliteConnection,
    found: Prunable,
    before: [i64; 3],
    now: i64,
) -> Result<Pruned, sqlx::Error> {
    let [done, dead, ledger] = before;
    let rows = serde_json::json!(found.rows).to_string();
    sqlx::query(include_str!("sql/clear_touched.sql")).execute(&mut *connection).await?;
    let blocking = sqlx::query(include_str!("sql/prune_touched.sql")).bind(dead).bind(&rows);
    if blocking.execute(&mut *connection).await?.rows_affected() > 0 {
        wake_keys(connection, now).await?;
    }
    let unfinished = sqlx::query(include_str!("sql/prune_unfinished.sql")).bind(dead).bind(&rows);
    let unfinished = unfinished.execute(&mut *connection).await?.rows_affected();
    let events = sqlx::query(include_str!("sql/prune_events.sql")).bind(done).bind(dead).bind(rows);
    let events = events.execute(&mut *connection).await?.rows_affected();
    let claims = serde_json::json!(found.claims).to_string();
    let claims = sqlx::query(include_str!("sql/prune_claims.sql")).bind(ledger).bind(claims);
    let claims = claims.execute(connection).await?.rows_affected();
    Ok(Pruned { events, claims: claims + unfinished })
}

/// Finishes rows of types that no handler is listed for, where the settings say so.
async fn finish_unhandled(store: &Store, policy: Unhandled, now: Timestamp) -> Result<u64, StoreError> {
    let status = match policy {
        Unhandled::Discard => "done",
        Unhandled::DeadLetter => "dead_lettered",
        _ => return Ok(0),
    };
    let expired = now.before(store.options.queue_lease).as_millis();
    let now = now.as_millis();
    let rows = store.read(move |connection| Box::pin(unhandled(connection, now, expired))).await?;
    if rows.is_empty() {
        return Ok(0);
    }
    let failed = |e| store_error("finish unhandled rows", e);
    let rows = serde_json::json!(rows.iter().map(|row| [row]).collect::<Vec<_>>()).to_string();
    let finished = store.writer()?.transaction(move |connection| {
        Box::pin(async move {
            let finish = sqlx::query(include_str!("sql/upkeep_finish_unhandled.sql"))
                .bind(now)
                .bind(expired)
                .bind(&rows)
                .bind(status);
            let finished = finish.execute(&mut *connection).await.map_err(failed)?.rows_affected();
            // A worker that is deployed later finds what stood behind them.
            touch(connection, &rows).await.map_err(failed)?;
            wake_keys(connection, now).await.map_err(failed)?;
            Ok(finished)
        })
    });
    finished.await
}

async fn unhandled(
    connection: &mut SqliteConnection,
    now: i64,
    expired: i64,
) -> Result<Vec<i64>, StoreError> {
    let find = sqlx::query_scalar(include_str!("sql/upkeep_find_unhandled.sql"));
    let found = find.bind(now).bind(expired).bind(STEP).fetch_all(connection).await;
    found.map_err(|e| store_error("look for rows that nobody handles", e))
}
