//! Listing dead letters, redriving and discarding them.

use outbox_core::{DeadLetter, DeadLetterFilter, EventId, StoreError, Timestamp};
use serde_json::{Value, json};
use sqlx::sqlite::SqliteConnection;

use super::handlers::touch;
use super::{BREATH, STEP};
use crate::error::store_error;
use crate::store::Store;

/// What is done to dead letters.
#[derive(Clone, Copy)]
pub(super) enum Change {
    Retry,
    Discard,
}

/// A dead letter and its row.
struct Found {
    row: i64,
    /// As the tables hold it.
    event_id: String,
    letter: DeadLetter,
}

/// Up to where dead letters have been seen. Starts before every one of them.
#[derive(Clone)]
struct Place {
    died_at: i64,
    event_id: String,
    handler: String,
    row: i64,
}

const START: Place =
    Place { died_at: i64::MIN, event_id: String::new(), handler: String::new(), row: i64::MIN };

/// At most `limit`, oldest first.
pub(super) async fn list(
    store: &Store,
    filter: &DeadLetterFilter,
    limit: usize,
) -> Result<Vec<DeadLetter>, StoreError> {
    let until = last_moment(store, filter);
    let mut found = handlers_page(store, filter, until, START, limit).await?;
    found.extend(events_page(store, filter, until, START, limit).await?);
    found.sort_by_key(|found| (found.letter.died_at, found.row));
    Ok(found.into_iter().map(|found| found.letter).take(limit).collect())
}

/// Changes all that fit, page by page. What dies meanwhile is left alone, or a handler that fails at once would be
/// redriven for ever.
pub(super) async fn change_all(
    store: &Store,
    filter: &DeadLetterFilter,
    change: Change,
) -> Result<u64, StoreError> {
    let until = last_moment(store, filter);
    let mut changed = 0;
    let mut place = START;
    loop {
        let page = handlers_page(store, filter, until, place.clone(), STEP).await?;
        let Some(last) = page.last() else { break };
        place = last.place();
        changed += apply(store, &page, change).await?;
        tokio::time::sleep(BREATH).await;
    }
    place = START;
    loop {
        let page = events_page(store, filter, until, place.clone(), STEP).await?;
        let Some(last) = page.last() else { break };
        place = last.place();
        changed += apply(store, &page, change).await?;
        tokio::time::sleep(BREATH).await;
    }
    Ok(changed)
}

fn last_moment(store: &Store, filter: &DeadLetterFilter) -> i64 {
    let now = store.clock.now();
    filter.dead_for.map_or(now, |dead_for| now.before(dead_for)).as_millis()
}

type HandlerColumns = (i64, String, String, u32, String, String, Option<String>, String, i64);

async fn handlers_page(
    store: &Store,
    filter: &DeadLetterFilter,
    until: i64,
    place: Place,
    most: usize,
) -> Result<Vec<Found>, StoreError> {
    let filter = filter.clone();
    let rows: Vec<HandlerColumns> = store
        .read(move |connection| {
            Box::pin(async move {
                let page = sqlx::query_as(include_str!("../sql/admin_dead_claims.sql"))
                    .bind(until)
                    .bind(filter.event_id.map(|id| id.to_string()))
                    .bind(filter.event_type)
                    .bind(filter.handler)
                    .bind(filter.error_contains)
                    .bind(i64::try_from(most).unwrap_or(i64::MAX))
                    .bind(place.died_at)
                    .bind(place.event_id)
                    .bind(place.handler);
                page.fetch_all(connection).await.map_err(|e| store_error("list dead letters", e))
            })
        })
        .await?;
    let found =
        |(died_at, event_id, handler, attempts, reason, event_type, key, payload, row): HandlerColumns| {
            let handler = Some(handler);
            let died_at = Timestamp::from_millis(died_at);
            let letter = DeadLetter {
                event_id: id(&event_id),
                event_type,
                key,
                handler,
                attempts,
                reason,
                died_at,
                payload,
            };
            Found { row, event_id, letter }
        };
    Ok(rows.into_iter().map(found).collect())
}

type EventColumns = (i64, String, u32, String, String, Option<String>, String, i64);

async fn events_page(
    store: &Store,
    filter: &DeadLetterFilter,
    until: i64,
    place: Place,
    most: usize,
) -> Result<Vec<Found>, StoreError> {
    if filter.handler.is_some() {
        return Ok(Vec::new());
    }
    let filter = filter.clone();
    let rows: Vec<EventColumns> = store
        .read(move |connection| {
            Box::pin(async move {
                let page = sqlx::query_as(include_str!("../sql/admin_dead_events.sql"))
                    .bind(until)
                    .bind(filter.event_id.map(|id| id.to_string()))
                    .bind(filter.event_type)
                    .bind(filter.error_contains)
                    .bind(i64::try_from(most).unwrap_or(i64::MAX))
                    .bind(place.died_at)
                    .bind(place.row);
                page.fetch_all(connection).await.map_err(|e| store_error("list dead events", e))
            })
        })
        .await?;
    let found = |(died_at, event_id, attempts, reason, event_type, key, payload, row): EventColumns| {
        let died_at = Timestamp::from_millis(died_at);
        let letter = DeadLetter {
            event_id: id(&event_id),
            event_type,
            key,
            handler: None,
            attempts,
            reason,
            died_at,
            payload,
        };
        Found { row, event_id, letter }
    };
    Ok(rows.into_iter().map(found).collect())
}

/// A row whose id is no UUID is listed under the nil id.
fn id(text: &str) -> EventId {
    text.parse().unwrap_or_else(|_| EventId::from(uuid::Uuid::nil()))
}

impl Found {
    fn place(&self) -> Place {
        Place {
            died_at: self.letter.died_at.as_millis(),
            event_id: self.event_id.clone(),
            handler: self.letter.handler.clone().unwrap_or_default(),
            row: self.row,
        }
    }
}

/// Changes one page in one transaction, and says how many dead letters that were still there.
async fn apply(store: &Store, page: &[Found], change: Change) -> Result<u64, StoreError> {
    let now = store.clock.now().as_millis();
    let pairs: Vec<Value> =
        page.iter().map(|found| json!([found.row, found.event_id, found.letter.handler])).collect();
    let whole = page.iter().filter(|found| found.letter.handler.is_none()).count() as u64;
    let pairs = Value::from(pairs).to_string();
    store
        .writer()?
        .transaction(move |connection| {
            Box::pin(async move {
                let changed = match change {
                    Change::Retry => retry(connection, pairs, now).await,
                    Change::Discard => discard(connection, pairs, now).await,
                };
                Ok(changed.map_err(|e| store_error("change dead letters", e))? + whole)
            })
        })
        .await
}

async fn retry(connection: &mut SqliteConnection, pairs: String, now: i64) -> Result<u64, sqlx::Error> {
    let claims = sqlx::query(include_str!("../sql/admin_retry_claims.sql")).bind(now).bind(&pairs);
    let changed = claims.execute(&mut *connection).await?.rows_affected();
    sqlx::query(include_str!("../sql/admin_retry_events.sql"))
        .bind(now)
        .bind(&pairs)
        .execute(connection)
        .await?;
    Ok(changed)
}

async fn discard(connection: &mut SqliteConnection, pairs: String, now: i64) -> Result<u64, sqlx::Error> {
    let claims = sqlx::query(include_str!("../sql/admin_discard_claims.sql")).bind(now).bind(&pairs);
    let changed = claims.execute(&mut *connection).await?.rows_affected();
    touch(connection, pairs.clone()).await?;
    let mut wake = sqlx::query(include_str!("../sql/wake_key.sql"));
    for _ in 1..=8 {
        wake = wake.bind(None::<String>);
    }
    wake.bind(now).execute(&mut *connection).await?;
    sqlx::query(include_str!("../sql/admin_discard_events.sql")).bind(pairs).execute(connection).await?;
    Ok(changed)
}
