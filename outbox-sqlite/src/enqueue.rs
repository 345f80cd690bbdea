//! Writing events into the queue, within the application's transaction or as a write of our own.

use std::collections::HashSet;

use outbox_core::{Clock, Enqueue, EnqueueError, Enqueued, NewEvent, ReadyEvent, StoreError, SystemClock};
use sqlx::sqlite::SqliteConnection;
use sqlx::{Connection, Sqlite, Transaction};

use crate::error::store_error;
use crate::writer::arguments;

/// Marks the implementations of [`Enqueue`] of this crate.
#[derive(Debug, Clone, Copy)]
pub enum SqliteBackend {}

/// Most events in one statement: bounds the memory that a call takes.
const MOST: usize = 10_000;

impl Enqueue<SqliteBackend> for Transaction<'_, Sqlite> {
    async fn enqueue_all(&mut self, events: Vec<NewEvent>) -> Result<Vec<Enqueued>, EnqueueError> {
        insert(self, &ready(events)?).await
    }
}

/// On a bare connection only while sqlx knows of an open transaction on it: written in autocommit mode, an event would
/// stand although the data it tells of is not there.
impl Enqueue<SqliteBackend> for SqliteConnection {
    async fn enqueue_all(&mut self, events: Vec<NewEvent>) -> Result<Vec<Enqueued>, EnqueueError> {
        if !self.is_in_transaction() {
            return Err(EnqueueError::NoTransaction);
        }
        insert(self, &ready(events)?).await
    }
}

fn ready(events: Vec<NewEvent>) -> Result<Vec<ReadyEvent>, EnqueueError> {
    let now = SystemClock.now();
    Ok(events.into_iter().map(|event| event.ready(now)).collect::<Result<_, _>>()?)
}

/// Inserts events that passed every check.
pub(crate) async fn insert(
    connection: &mut SqliteConnection,
    events: &[ReadyEvent],
) -> Result<Vec<Enqueued>, EnqueueError> {
    match events {
        [event] => Ok(vec![insert_one(connection, event).await?]),
        events => {
            let mut enqueued = Vec::with_capacity(events.len());
            for chunk in events.chunks(MOST) {
                insert_many(connection, chunk, &mut enqueued).await?;
            }
            Ok(enqueued)
        }
    }
}

async fn insert_one(connection: &mut SqliteConnection, event: &ReadyEvent) -> Result<Enqueued, StoreError> {
    let envelope = &event.envelope;
    let inserted = sqlx::query(include_str!("sql/enqueue_one.sql"))
        .bind(envelope.id.to_string())
        .bind(&envelope.event_type)
        .bind(envelope.version)
        .bind(&envelope.key)
        .bind(&envelope.payload)
        .bind(arguments::headers(envelope))
        .bind(event.available_at.as_millis())
        .bind(envelope.occurred_at.as_millis())
        .execute(connection)
        .await
        .map_err(|e| store_error("enqueue an event", e))?;
    Ok(Enqueued { id: envelope.id, duplicate: inserted.rows_affected() == 0 })
}

async fn insert_many(
    connection: &mut SqliteConnection,
    events: &[ReadyEvent],
    enqueued: &mut Vec<Enqueued>,
) -> Result<(), StoreError> {
    let fresh: Vec<(String, String)> = sqlx::query_as(include_str!("sql/enqueue_many.sql"))
        .bind(arguments::enqueued(events.iter()))
        .fetch_all(connection)
        .await
        .map_err(|e| store_error("enqueue events", e))?;
    let mut fresh: HashSet<String> = fresh.into_iter().map(|(_, id)| id).collect();
    // Of two equal ids in one call, the first was written.
    let ids = events.iter().map(|event| event.envelope.id);
    enqueued.extend(ids.map(|id| Enqueued { id, duplicate: !fresh.remove(&id.to_string()) }));
    Ok(())
}
