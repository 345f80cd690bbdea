//! Finding dead letters: handlers that gave up on an event, and events that were dead-lettered as a whole.

use outbox_core::{DeadLetter, DeadLetterFilter, EventId, StoreError, Timestamp};
use sqlx::sqlite::{SqliteConnection, SqliteRow};

use super::reader;
use crate::columns::{count, number, text};
use crate::error::store_error;
use crate::store::Store;

/// At most `limit`, oldest first.
pub(super) async fn list(
    store: &Store,
    filter: &DeadLetterFilter,
    limit: usize,
) -> Result<Vec<DeadLetter>, StoreError> {
    let search = Search { with_payload: true, ..Search::new(store, filter, limit) };
    let mut connection = reader(store).await?;
    let mut found = handlers(&mut connection, &search, &Place::START).await?;
    found.extend(events(&mut connection, &search, &Place::START).await?);
    found.sort_by_key(|found| (found.letter.died_at, found.place.row));
    Ok(found.into_iter().map(|found| found.letter).take(limit).collect())
}

/// What is looked for.
#[derive(Debug)]
pub(super) struct Search<'f> {
    filter: &'f DeadLetterFilter,
    /// Nothing that died later.
    until: i64,
    most: i64,
    with_payload: bool,
}

impl<'f> Search<'f> {
    /// Dead letters up to now, without their payloads.
    pub(super) fn new(store: &Store, filter: &'f DeadLetterFilter, most: usize) -> Self {
        let now = store.clock.now();
        let until = filter.dead_for.map_or(now, |dead_for| now.before(dead_for)).as_millis();
        Self { filter, until, most: i64::try_from(most).unwrap_or(i64::MAX), with_payload: false }
    }
}

/// A dead letter, and where it stands in the order of the search.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) letter: DeadLetter,
    pub(super) place: Place,
}

/// Up to where a search has come.
#[derive(Debug, Clone)]
pub(super) struct Place {
    died_at: i64,
    /// As the tables hold it.
    pub(super) event_id: String,
    handler: String,
    pub(super) row: i64,
}

impl Place {
    /// Before every dead letter.
    pub(super) const START: Place =
        Place { died_at: i64::MIN, event_id: String::new(), handler: String::new(), row: i64::MIN };
}

/// Handlers that gave up, after a place, at most as many as are looked for.
pub(super) async fn handlers(
    connection: &mut SqliteConnection,
    search: &Search<'_>,
    after: &Place,
) -> Result<Vec<Found>, StoreError> {
    let query = sqlx::query(include_str!("../sql/admin_dead_claims.sql"))
        .bind(search.until)
        .bind(search.filter.event_id.map(|id| id.to_string()))
        .bind(&search.filter.event_type)
        .bind(&search.filter.handler)
        .bind(&search.filter.error_contains)
        .bind(search.most)
        .bind(search.with_payload)
        .bind(after.died_at)
        .bind(&after.event_id)
        .bind(&after.handler);
    read(query.fetch_all(connection).await)
}

/// Events that were dead-lettered as a whole, after a place, at most as many as are looked for.
pub(super) async fn events(
    connection: &mut SqliteConnection,
    search: &Search<'_>,
    after: &Place,
) -> Result<Vec<Found>, StoreError> {
    if search.filter.handler.is_some() {
        return Ok(Vec::new());
    }
    let query = sqlx::query(include_str!("../sql/admin_dead_events.sql"))
        .bind(search.until)
        .bind(search.filter.event_id.map(|id| id.to_string()))
        .bind(&search.filter.event_type)
        .bind(&search.filter.error_contains)
        .bind(search.most)
        .bind(search.with_payload)
        .bind(after.died_at)
        .bind(after.row);
    read(query.fetch_all(connection).await)
}

fn read(rows: Result<Vec<SqliteRow>, sqlx::Error>) -> Result<Vec<Found>, StoreError> {
    let found = rows.and_then(|rows| rows.iter().map(found).collect());
    found.map_err(|error| store_error("look for dead letters", error))
}

fn found(row: &SqliteRow) -> Result<Found, sqlx::Error> {
    let event_id = text(row, "event_id")?.unwrap_or_default();
    let handler = text(row, "handler")?;
    let died_at = number(row, "died_at")?.unwrap_or(0);
    let letter = DeadLetter {
        // An id that is no UUID stands for itself in the tables only.
        event_id: event_id.parse().unwrap_or_else(|_| EventId::from(uuid::Uuid::nil())),
        event_type: text(row, "event_type")?.unwrap_or_default(),
        key: text(row, "event_key")?,
        handler: handler.clone(),
        attempts: count(row, "attempts")?,
        reason: text(row, "last_error")?.unwrap_or_default(),
        died_at: Timestamp::from_millis(died_at),
        payload: text(row, "payload")?.unwrap_or_default(),
    };
    let row = number(row, "id")?.unwrap_or_default();
    Ok(Found { letter, place: Place { died_at, event_id, handler: handler.unwrap_or_default(), row } })
}
