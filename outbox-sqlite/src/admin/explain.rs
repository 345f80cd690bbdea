//! All that the store knows about one event.

use outbox_core::{
    ClaimState, EventId, EventState, Explanation, HandlerProgress, Headers, StoreError, TimelineEntry,
    Timestamp, WaitReason,
};
use sqlx::sqlite::{SqliteConnection, SqliteRow};
use sqlx::{FromRow, Row};

use super::status::reason;
use crate::error::store_error;
use crate::store::Store;

struct EventRow {
    event_type: String,
    event_version: i64,
    event_key: Option<String>,
    status: String,
    payload: String,
    headers: String,
    waits_for: String,
    available_at: i64,
    claimed_at: Option<i64>,
    created_at: i64,
    finished_at: Option<i64>,
    last_error: Option<String>,
    is_listed: bool,
}

impl FromRow<'_, SqliteRow> for EventRow {
    fn from_row(row: &SqliteRow) -> Result<Self, sqlx::Error> {
        Ok(Self {
            event_type: row.try_get("event_type")?,
            event_version: row.try_get("event_version")?,
            event_key: row.try_get("event_key")?,
            status: row.try_get("status")?,
            payload: row.try_get("payload")?,
            headers: row.try_get("headers")?,
            waits_for: row.try_get("waits_for")?,
            available_at: row.try_get("available_at")?,
            claimed_at: row.try_get("claimed_at")?,
            created_at: row.try_get("created_at")?,
            finished_at: row.try_get("finished_at")?,
            last_error: row.try_get("last_error")?,
            is_listed: row.try_get("is_listed")?,
        })
    }
}

pub(super) async fn read(store: &Store, event_id: EventId) -> Result<Option<Explanation>, StoreError> {
    let lease = store.options.queue_lease;
    store
        .read(move |connection| {
            Box::pin(async move {
                let (row, handlers) =
                    rows(connection, event_id).await.map_err(|e| store_error("explain an event", e))?;
                Ok(match row {
                    Some(row) => Some(explain(event_id, row, handlers, lease)),
                    None => explain_by_ledger(event_id, handlers),
                })
            })
        })
        .await
}

async fn rows(
    connection: &mut SqliteConnection,
    event_id: EventId,
) -> Result<(Option<EventRow>, Vec<HandlerProgress>), sqlx::Error> {
    let row: Option<EventRow> = sqlx::query_as(include_str!("../sql/admin_event.sql"))
        .bind(event_id.to_string())
        .fetch_optional(&mut *connection)
        .await?;
    let is_finished = row.as_ref().is_some_and(|row| row.finished_at.is_some());
    let handlers: Vec<HandlerColumns> = sqlx::query_as(include_str!("../sql/admin_event_handlers.sql"))
        .bind(event_id.to_string())
        .bind(row.as_ref().map(|row| row.event_type.clone()))
        .bind(is_finished)
        .fetch_all(connection)
        .await?;
    Ok((row, handlers.into_iter().map(progress).collect()))
}

type HandlerColumns =
    (String, Option<String>, u32, Option<String>, Option<i64>, Option<i64>, Option<i64>, Option<String>);

fn progress(
    (handler, state, attempts, owner, started_at, lease_until, processed_at, last_error): HandlerColumns,
) -> HandlerProgress {
    HandlerProgress {
        handler,
        state: state.as_deref().and_then(ClaimState::from_word),
        attempts,
        owner,
        started_at: started_at.map(Timestamp::from_millis),
        lease_until: lease_until.map(Timestamp::from_millis),
        processed_at: processed_at.map(Timestamp::from_millis),
        last_error,
    }
}

fn explain(
    event_id: EventId,
    row: EventRow,
    handlers: Vec<HandlerProgress>,
    lease: std::time::Duration,
) -> Explanation {
    let state = EventState::from_word(&row.status);
    let waits_for = if state == Some(EventState::Pending) { waits_for(&row, &handlers) } else { None };
    let timeline = timeline(Some(&row), &handlers);
    let in_hand_until = row.claimed_at.map(|at| Timestamp::from_millis(at).after(lease));
    Explanation {
        event_id,
        version: u32::try_from(row.event_version).unwrap_or(0),
        key: row.event_key,
        state,
        headers: serde_json::from_str(&row.headers).unwrap_or_default(),
        waits_for,
        available_at: in_hand_until.unwrap_or(Timestamp::from_millis(row.available_at)),
        event_type: row.event_type,
        payload: row.payload,
        handlers,
        timeline,
    }
}

fn waits_for(row: &EventRow, handlers: &[HandlerProgress]) -> Option<WaitReason> {
    if row.waits_for == "handler" {
        let not_begun = handlers.iter().find(|handler| handler.state.is_none())?;
        return Some(WaitReason::Handler(not_begun.handler.clone()));
    }
    reason(&row.waits_for, row.event_type.clone(), row.is_listed)
}

/// The queue has forgotten the event; the ledger knows neither its type nor its payload.
fn explain_by_ledger(event_id: EventId, handlers: Vec<HandlerProgress>) -> Option<Explanation> {
    let last = handlers.iter().filter_map(|handler| handler.processed_at.or(handler.started_at)).max()?;
    Some(Explanation {
        event_id,
        event_type: String::new(),
        version: 0,
        key: None,
        state: None,
        payload: String::new(),
        headers: Headers::new(),
        waits_for: None,
        available_at: last,
        timeline: timeline(None, &handlers),
        handlers,
    })
}

fn timeline(row: Option<&EventRow>, handlers: &[HandlerProgress]) -> Vec<TimelineEntry> {
    let mut entries = Vec::new();
    let mut push = |at: Timestamp, handler: Option<&str>, what: String| {
        entries.push(TimelineEntry { at, handler: handler.map(str::to_owned), what });
    };
    if let Some(row) = row {
        push(Timestamp::from_millis(row.created_at), None, "enqueued".to_owned());
    }
    for progress in handlers {
        let name = Some(&*progress.handler);
        if let Some(at) = progress.started_at {
            push(at, name, format!("attempt {} started", progress.attempts));
        }
        let error = progress.last_error.as_deref().unwrap_or("no error");
        match (progress.state, progress.processed_at, progress.lease_until) {
            (Some(ClaimState::Done), Some(at), _) => push(at, name, "done".to_owned()),
            (Some(ClaimState::Dead), Some(at), _) => push(at, name, format!("gave up: {error}")),
            (Some(ClaimState::Released), _, Some(at)) => push(at, name, format!("due again after: {error}")),
            (Some(ClaimState::InProgress), _, Some(at)) => push(at, name, "lease ends".to_owned()),
            _ => {}
        }
    }
    if let Some((row, at)) = row.and_then(|row| Some((row, row.finished_at?))) {
        let reason = row.last_error.as_deref().filter(|_| row.status == EventState::DeadLettered.as_str());
        let what = reason.map_or_else(|| row.status.clone(), |reason| format!("{}: {reason}", row.status));
        push(Timestamp::from_millis(at), None, what);
    }
    // Stable, so that what happened in one millisecond stays in the order of the steps above.
    entries.sort_by_key(|entry| entry.at);
    entries
}
