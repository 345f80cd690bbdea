//! Regular upkeep of the tables, in short steps.

use std::sync::Arc;

use outbox_core::{Pruned, Retention, StoreError, Timestamp, Unhandled, Upkeep, UpkeepReport};
use sqlx::sqlite::SqliteConnection;

use crate::error::store_error;
use crate::store::Store;
use crate::subscriber::Subscriber;

/// Most rows that one step changes: a few milliseconds of the write lock.
const STEP: i64 = 500;

/// One step of pruning and of dealing with types that nobody handles, and what is seen on the way.
pub(crate) async fn run(
    store: &Store,
    subscriber: &Arc<Subscriber>,
    upkeep: &Upkeep,
) -> Result<UpkeepReport, StoreError> {
    let now = store.clock.now();
    let mut report = look(store, subscriber, now).await?;
    let pruned = prune_step(store, &upkeep.retention, now).await?;
    report.pruned_events = pruned.events;
    report.pruned_claims = pruned.claims;
    report.unhandled_rows = finish_unhandled(store, upkeep.unhandled, &report.unhandled_types, now).await?;
    report.more =
        [pruned.events, pruned.claims, report.unhandled_rows].iter().any(|rows| *rows >= STEP as u64);
    Ok(report)
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
                let unhandled_types = sqlx::query_scalar(include_str!("sql/upkeep_unhandled.sql"))
                    .fetch_all(&mut *connection)
                    .await
                    .map_err(failed)?;
                let waiting: Vec<(String, i64)> = sqlx::query_as(include_str!("sql/upkeep_waiting.sql"))
                    .bind(now.as_millis())
                    .bind(handlers)
                    .fetch_all(&mut *connection)
                    .await
                    .map_err(failed)?;
                let (backlog, oldest): (i64, Option<i64>) =
                    sqlx::query_as(include_str!("sql/upkeep_backlog.sql"))
                        .bind(now.as_millis())
                        .fetch_one(connection)
                        .await
                        .map_err(failed)?;
                Ok(UpkeepReport {
                    unhandled_types,
                    waiting_for: waiting
                        .into_iter()
                        .map(|(name, rows)| (name, rows.unsigned_abs()))
                        .collect(),
                    backlog: backlog.unsigned_abs(),
                    oldest: oldest.map(Timestamp::from_millis),
                    ..UpkeepReport::default()
                })
            })
        })
        .await
}

/// Deletes what retention allows, at most [`STEP`] rows of each table.
pub(crate) async fn prune_step(
    store: &Store,
    retention: &Retention,
    now: Timestamp,
) -> Result<Pruned, StoreError> {
    let [done, dead, ledger] =
        [retention.done, retention.dead, retention.ledger].map(|age| now.before(age).as_millis());
    // Looked up first, so that an idle store is not written to.
    let is_due: bool = store
        .read(move |connection| {
            Box::pin(async move {
                let due =
                    sqlx::query_scalar(include_str!("sql/prune_due.sql")).bind(done).bind(dead).bind(ledger);
                due.fetch_one(connection).await.map_err(|e| store_error("look for what can be pruned", e))
            })
        })
        .await?;
    if !is_due {
        return Ok(Pruned::default());
    }
    store
        .writer()?
        .transaction(move |connection| {
            Box::pin(async move {
                let events = prune_events(connection, done, dead).await?;
                let mut claims = 0;
                for statement in
                    [include_str!("sql/prune_claims.sql"), include_str!("sql/prune_left_claims.sql")]
                {
                    let pruned =
                        sqlx::query(statement).bind(ledger).bind(STEP).execute(&mut *connection).await;
                    claims += pruned.map_err(|e| store_error("prune the ledger", e))?.rows_affected();
                }
                Ok(Pruned { events, claims })
            })
        })
        .await
}

async fn prune_events(connection: &mut SqliteConnection, done: i64, dead: i64) -> Result<u64, StoreError> {
    let events = sqlx::query(include_str!("sql/prune_events.sql")).bind(done).bind(dead).bind(STEP);
    Ok(events.execute(connection).await.map_err(|e| store_error("prune the queue", e))?.rows_affected())
}

/// Finishes rows of types that no handler is listed for, where the settings say so.
async fn finish_unhandled(
    store: &Store,
    policy: Unhandled,
    types: &[String],
    now: Timestamp,
) -> Result<u64, StoreError> {
    let status = match policy {
        Unhandled::Discard => "done",
        Unhandled::DeadLetter => "dead_lettered",
        _ => return Ok(0),
    };
    if types.is_empty() {
        return Ok(0);
    }
    let types = serde_json::Value::from(types.to_vec()).to_string();
    store
        .writer()?
        .transaction(move |connection| {
            Box::pin(async move {
                let finish = sqlx::query(include_str!("sql/upkeep_finish_unhandled.sql"))
                    .bind(now.as_millis())
                    .bind(types)
                    .bind(status)
                    .bind(STEP);
                let finished =
                    finish.execute(connection).await.map_err(|e| store_error("finish unhandled rows", e))?;
                Ok(finished.rows_affected())
            })
        })
        .await
}
