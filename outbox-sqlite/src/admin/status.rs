//! How the store is doing.

use std::collections::BTreeMap;

use outbox_core::{EventState, Status, StoreError, Timestamp, TypeCount, WaitReason, Waiting};
use sqlx::sqlite::SqliteConnection;

use crate::error::store_error;
use crate::store::Store;

pub(super) async fn read(store: &Store) -> Result<Status, StoreError> {
    let now = store.clock.now();
    store
        .read(move |connection| {
            Box::pin(async move {
                let status = async {
                    Ok(Status {
                        counts: counts(connection).await?,
                        dead_letters: dead_letters(connection).await?,
                        oldest: oldest(connection, now).await?,
                        waiting: waiting(connection).await?,
                    })
                };
                status.await.map_err(|e| store_error("read the status", e))
            })
        })
        .await
}

async fn counts(connection: &mut SqliteConnection) -> Result<Vec<TypeCount>, sqlx::Error> {
    let rows: Vec<(String, String, i64, Option<i64>)> =
        sqlx::query_as(include_str!("../sql/admin_counts.sql")).fetch_all(connection).await?;
    let count = |(event_type, state, events, oldest): (String, String, i64, Option<i64>)| {
        // A word that no version of this library writes is left out.
        let state = EventState::from_word(&state)?;
        let oldest = oldest.map(Timestamp::from_millis);
        Some(TypeCount { event_type, state, events: events.unsigned_abs(), oldest })
    };
    Ok(rows.into_iter().filter_map(count).collect())
}

async fn dead_letters(connection: &mut SqliteConnection) -> Result<u64, sqlx::Error> {
    let count: i64 =
        sqlx::query_scalar(include_str!("../sql/admin_dead_count.sql")).fetch_one(connection).await?;
    Ok(count.unsigned_abs())
}

async fn oldest(connection: &mut SqliteConnection, now: Timestamp) -> Result<Option<Timestamp>, sqlx::Error> {
    let query =
        sqlx::query_scalar::<_, Option<i64>>(include_str!("../sql/admin_oldest.sql")).bind(now.as_millis());
    Ok(query.fetch_one(connection).await?.map(Timestamp::from_millis))
}

async fn waiting(connection: &mut SqliteConnection) -> Result<Vec<Waiting>, sqlx::Error> {
    let rows: Vec<(String, String, i64, bool)> =
        sqlx::query_as(include_str!("../sql/admin_waiting_rows.sql")).fetch_all(&mut *connection).await?;
    let handlers: Vec<(String, i64)> =
        sqlx::query_as(include_str!("../sql/admin_waiting_handlers.sql")).fetch_all(connection).await?;
    let mut waiting = BTreeMap::<WaitReason, u64>::new();
    for (event_type, waits_for, events, is_listed) in rows {
        if let Some(reason) = reason(&waits_for, event_type, is_listed) {
            *waiting.entry(reason).or_default() += events.unsigned_abs();
        }
    }
    for (handler, events) in handlers {
        waiting.insert(WaitReason::Handler(handler), events.unsigned_abs());
    }
    Ok(waiting.into_iter().map(|(reason, events)| Waiting { reason, events }).collect())
}

/// What the column `waits_for` means, but for the handlers, which the ledger names.
pub(super) fn reason(waits_for: &str, event_type: String, is_listed: bool) -> Option<WaitReason> {
    match waits_for.strip_prefix("version:") {
        _ if !is_listed => Some(WaitReason::AnyHandler { event_type }),
        Some(version) => Some(WaitReason::Version { event_type, version: version.parse().ok()? }),
        None if waits_for == "key" => Some(WaitReason::Key),
        None => None,
    }
}
