//! How the store is doing.

use std::collections::BTreeMap;

use outbox_core::{EventState, Status, StoreError, Timestamp, TypeCount, WaitReason, Waiting};
use sqlx::sqlite::SqliteConnection;

use super::reader;
use crate::columns::{number, text};
use crate::error::store_error;
use crate::store::Store;
use crate::upkeep;

pub(super) async fn read(store: &Store) -> Result<Status, StoreError> {
    let now = store.clock.now();
    let mut connection = reader(store).await?;
    let status = async {
        let (counts, unknown) = counts(&mut connection).await?;
        let mut waiting = waiting(&mut connection, now).await?;
        waiting.extend(unknown);
        Ok(Status {
            counts,
            dead_letters: dead_letters(&mut connection).await?,
            oldest: oldest(&mut connection, now).await?,
            waiting,
        })
    };
    status.await.map_err(|error| store_error("read the status", error))
}

/// Events per type and state, and those in states that are none of ours.
async fn counts(connection: &mut SqliteConnection) -> Result<(Vec<TypeCount>, Vec<Waiting>), sqlx::Error> {
    let rows = sqlx::query(include_str!("../sql/admin_counts.sql")).fetch_all(connection).await?;
    let mut counts = Vec::new();
    let mut unknown = BTreeMap::<WaitReason, u64>::new();
    for row in &rows {
        let event_type = text(row, "event_type")?.unwrap_or_default();
        let events = number(row, "events")?.unwrap_or(0).unsigned_abs();
        let oldest = number(row, "oldest")?.map(Timestamp::from_millis);
        let word = text(row, "status")?.unwrap_or_default();
        match EventState::from_word(&word) {
            Some(state) => counts.push(TypeCount { event_type, state, events, oldest }),
            None => *unknown.entry(WaitReason::UnknownState(word)).or_default() += events,
        }
    }
    Ok((counts, unknown.into_iter().map(|(reason, events)| Waiting { reason, events }).collect()))
}

async fn dead_letters(connection: &mut SqliteConnection) -> Result<u64, sqlx::Error> {
    let count: i64 =
        sqlx::query_scalar(include_str!("../sql/admin_dead_count.sql")).fetch_one(connection).await?;
    Ok(count.unsigned_abs())
}

async fn oldest(connection: &mut SqliteConnection, now: Timestamp) -> Result<Option<Timestamp>, sqlx::Error> {
    let query = sqlx::query(include_str!("../sql/admin_oldest.sql")).bind(now.as_millis());
    Ok(number(&query.fetch_one(connection).await?, "oldest")?.map(Timestamp::from_millis))
}

async fn waiting(connection: &mut SqliteConnection, now: Timestamp) -> Result<Vec<Waiting>, sqlx::Error> {
    let rows = sqlx::query(include_str!("../sql/admin_waiting_rows.sql")).bind(now.as_millis());
    let rows = rows.fetch_all(&mut *connection).await?;
    let handlers: Vec<(String, i64)> =
        sqlx::query_as(include_str!("../sql/admin_waiting_handlers.sql")).fetch_all(&mut *connection).await?;
    let overdue = upkeep::overdue(connection, now, "[]").await?;
    let mut waiting = BTreeMap::<WaitReason, u64>::new();
    for row in &rows {
        let event_type = text(row, "event_type")?.unwrap_or_default();
        let waits_for = text(row, "waits_for")?.unwrap_or_default();
        let is_listed = number(row, "is_listed")? == Some(1);
        let (reason, events) = match reason(&waits_for, event_type, is_listed) {
            Some(reason) => (reason, "events"),
            None if waits_for.is_empty() => (WaitReason::DueTime, "not_due"),
            None => continue,
        };
        let events = number(row, events)?.unwrap_or(0).unsigned_abs();
        if events > 0 {
            *waiting.entry(reason).or_default() += events;
        }
    }
    for (handler, events) in upkeep::add_up(handlers.into_iter().chain(overdue)) {
        waiting.insert(WaitReason::Handler(handler), events);
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
