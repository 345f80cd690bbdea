//! Redriving and discarding dead letters, however many, in short steps.

use outbox_core::{DeadLetterFilter, StoreError};
use serde_json::{Value, json};
use sqlx::sqlite::SqliteConnection;

use super::dead_letters::{Found, Place, Search, events, handlers};
use super::reader;
use super::steps::{Breath, STEP};
use crate::error::store_error;
use crate::store::Store;
use crate::touched::{touch, wake_keys};

/// What is done to dead letters.
#[derive(Debug, Clone, Copy)]
pub(super) enum Change {
    Retry,
    Discard,
}

/// Changes all that fit, page by page, and says how many those were. What dies meanwhile is left alone, or a handler
/// that fails at once would be redriven for ever.
pub(super) async fn change_all(
    store: &Store,
    filter: &DeadLetterFilter,
    change: Change,
) -> Result<u64, StoreError> {
    let search = Search::new(store, filter, STEP);
    let mut changed = 0;
    let mut breath = Breath::new();
    let mut place = Place::START;
    loop {
        let page = handlers(&mut *reader(store).await?, &search, &place).await?;
        let Some(last) = page.last() else { break };
        place = last.place.clone();
        changed += apply(store, &page, change).await?;
        breath.take().await;
    }
    place = Place::START;
    loop {
        let page = events(&mut *reader(store).await?, &search, &place).await?;
        let Some(last) = page.last() else { return Ok(changed) };
        place = last.place.clone();
        changed += apply(store, &page, change).await?;
        breath.take().await;
    }
}

/// Changes one page in one transaction. Counts the dead letters that were still there.
async fn apply(store: &Store, page: &[Found], change: Change) -> Result<u64, StoreError> {
    let now = store.clock.now().as_millis();
    let letters =
        page.iter().map(|found| json!([found.place.row, found.place.event_id, found.letter.handler]));
    let letters = Value::from(letters.collect::<Vec<_>>()).to_string();
    let changed = store.writer()?.transaction(move |connection| {
        Box::pin(async move {
            let changed = match change {
                Change::Retry => retry(connection, &letters, now).await,
                Change::Discard => discard(connection, &letters, now).await,
            };
            changed.map_err(|error| store_error("change dead letters", error))
        })
    });
    changed.await
}

async fn retry(connection: &mut SqliteConnection, letters: &str, now: i64) -> Result<u64, sqlx::Error> {
    let whole = whole_events(connection, letters).await?;
    let claims = sqlx::query(include_str!("../sql/admin_retry_claims.sql")).bind(now).bind(letters);
    let claims = claims.execute(&mut *connection).await?.rows_affected();
    let events = sqlx::query(include_str!("../sql/admin_retry_events.sql")).bind(now).bind(letters);
    events.execute(connection).await?;
    Ok(claims + whole)
}

async fn discard(connection: &mut SqliteConnection, letters: &str, now: i64) -> Result<u64, sqlx::Error> {
    let whole = whole_events(connection, letters).await?;
    let claims = sqlx::query(include_str!("../sql/admin_discard_claims.sql")).bind(now).bind(letters);
    let claims = claims.execute(&mut *connection).await?.rows_affected();
    touch(connection, letters).await?;
    wake_keys(connection, now).await?;
    // Before the rows go, by which they are found.
    let others = sqlx::query(include_str!("../sql/admin_discard_others.sql")).bind(now).bind(letters);
    others.execute(&mut *connection).await?;
    sqlx::query(include_str!("../sql/admin_discard_events.sql")).bind(letters).execute(connection).await?;
    Ok(claims + whole)
}

/// How many of the events that were found dead as a whole still are.
async fn whole_events(connection: &mut SqliteConnection, letters: &str) -> Result<u64, sqlx::Error> {
    let count = sqlx::query_scalar(include_str!("../sql/admin_whole_events.sql")).bind(letters);
    let count: i64 = count.fetch_one(connection).await?;
    Ok(count.unsigned_abs())
}
