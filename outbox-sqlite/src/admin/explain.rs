//! All that the store knows about one event.

use outbox_core::{
    ClaimState, EventEnd, EventId, EventState, Explanation, HandlerProgress, OVERDUE, StoreError, Timestamp,
    WaitReason, timeline,
};
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::reader;
use super::status::reason;
use crate::columns::{count, number, text};
use crate::error::store_error;
use crate::store::Store;

pub(super) async fn read(store: &Store, event_id: EventId) -> Result<Option<Explanation>, StoreError> {
    let mut connection = reader(store).await?;
    let rows = rows(&mut connection, event_id).await;
    let (row, handlers) = rows.map_err(|error| store_error("explain an event", error))?;
    let Some(row) = row else { return Ok(Explanation::by_ledger(event_id, handlers)) };
    let number_and_key = row.key.clone().map(|key| (row.number, key));
    let mut explanation = explain(event_id, row, handlers, store);
    if let (Some(WaitReason::Key), Some((number, key))) = (&explanation.waits_for, number_and_key) {
        let behind = behind(&mut connection, number, &key, &explanation).await;
        explanation.behind = behind.map_err(|error| store_error("explain an event", error))?;
    }
    Ok(Some(explanation))
}

async fn behind(
    connection: &mut SqliteConnection,
    number: i64,
    key: &str,
    explanation: &Explanation,
) -> Result<Option<EventId>, sqlx::Error> {
    let row = sqlx::query(include_str!("../sql/admin_event_behind.sql"))
        .bind(number)
        .bind(key)
        .bind(&explanation.event_type)
        .bind(explanation.event_id.to_string())
        .fetch_optional(connection)
        .await?;
    let event_id = row.as_ref().map(|row| text(row, "event_id")).transpose()?.flatten();
    Ok(event_id.and_then(|id| id.parse().ok()))
}

async fn rows(
    connection: &mut SqliteConnection,
    event_id: EventId,
) -> Result<(Option<EventRow>, Vec<HandlerProgress>), sqlx::Error> {
    let row = sqlx::query(include_str!("../sql/admin_event.sql")).bind(event_id.to_string());
    let row = row.fetch_optional(&mut *connection).await?.as_ref().map(event).transpose()?;
    let is_finished = row.as_ref().is_some_and(|row| row.finished_at.is_some());
    let handlers = sqlx::query(include_str!("../sql/admin_event_handlers.sql"))
        .bind(event_id.to_string())
        .bind(row.as_ref().map(|row| row.event_type.clone()))
        .bind(is_finished)
        .fetch_all(connection)
        .await?;
    Ok((row, handlers.iter().map(progress).collect::<Result<_, _>>()?))
}

struct EventRow {
    number: i64,
    event_type: String,
    version: u32,
    key: Option<String>,
    status: String,
    payload: String,
    headers: String,
    waits_for: String,
    available_at: Timestamp,
    claimed_at: Option<Timestamp>,
    created_at: Timestamp,
    finished_at: Option<Timestamp>,
    last_error: Option<String>,
    is_listed: bool,
}

fn event(row: &SqliteRow) -> Result<EventRow, sqlx::Error> {
    let string = |column| Ok::<_, sqlx::Error>(text(row, column)?.unwrap_or_default());
    Ok(EventRow {
        number: number(row, "id")?.unwrap_or_default(),
        event_type: string("event_type")?,
        version: count(row, "event_version")?,
        key: text(row, "event_key")?,
        status: string("status")?,
        payload: string("payload")?,
        headers: string("headers")?,
        waits_for: string("waits_for")?,
        available_at: time(row, "available_at")?.unwrap_or(EPOCH),
        claimed_at: time(row, "claimed_at")?,
        created_at: time(row, "created_at")?.unwrap_or(EPOCH),
        finished_at: time(row, "finished_at")?,
        last_error: text(row, "last_error")?,
        is_listed: number(row, "is_listed")? == Some(1),
    })
}

/// What a time that is no number is shown as.
const EPOCH: Timestamp = Timestamp::from_millis(0);

fn time(row: &SqliteRow, column: &str) -> Result<Option<Timestamp>, sqlx::Error> {
    Ok(number(row, column)?.map(Timestamp::from_millis))
}

fn progress(row: &SqliteRow) -> Result<HandlerProgress, sqlx::Error> {
    Ok(HandlerProgress {
        handler: text(row, "handler")?.unwrap_or_default(),
        state: text(row, "status")?.as_deref().and_then(ClaimState::from_word),
        attempts: count(row, "attempts")?,
        owner: text(row, "owner")?,
        started_at: time(row, "started_at")?,
        lease_until: time(row, "lease_until")?,
        processed_at: time(row, "processed_at")?,
        last_error: text(row, "last_error")?,
    })
}

fn explain(event_id: EventId, row: EventRow, handlers: Vec<HandlerProgress>, store: &Store) -> Explanation {
    let state = EventState::from_word(&row.status);
    let waits_for = match state {
        Some(EventState::Pending) => waits_for(&row, &handlers, store.clock.now()),
        Some(_) => None,
        None => Some(WaitReason::UnknownState(row.status.clone())),
    };
    let timeline = timeline(Some(row.created_at), &handlers, end(&row, state));
    let in_hand_until = row.claimed_at.map(|at| at.after(store.options.queue_lease));
    Explanation {
        event_id,
        version: row.version,
        key: row.key,
        state,
        headers: serde_json::from_str(&row.headers).unwrap_or_default(),
        waits_for,
        behind: None,
        available_at: in_hand_until.unwrap_or(row.available_at),
        event_type: row.event_type,
        payload: row.payload,
        handlers,
        timeline,
    }
}

fn waits_for(row: &EventRow, handlers: &[HandlerProgress], now: Timestamp) -> Option<WaitReason> {
    let is_overdue = row.waits_for.is_empty() && row.available_at.after(OVERDUE) <= now;
    if row.waits_for == "handler" || (is_overdue && row.is_listed) {
        let not_begun = handlers.iter().find(|handler| handler.state.is_none())?;
        return Some(WaitReason::Handler(not_begun.handler.clone()));
    }
    reason(&row.waits_for, row.event_type.clone(), row.is_listed)
}

/// How the row ended, if it has.
fn end(row: &EventRow, state: Option<EventState>) -> Option<EventEnd<'_>> {
    let state = state?;
    let reason = row.last_error.as_deref().filter(|_| state == EventState::DeadLettered);
    Some(EventEnd { at: row.finished_at?, state, reason })
}
