//! Waiting rows that nothing would wake any more.
//!
//! A row that waits is woken by the settlement of what it waits for. Where that has gone in another way (deleted or
//! marked by hand, pruned, no longer blocking after a deploy) no settlement comes, so upkeep looks for such rows.

use std::time::{Duration, Instant};

use outbox_core::{StoreError, StoreErrorKind, Timestamp};
use sqlx::sqlite::SqliteConnection;

use crate::columns;
use crate::error::store_error;
use crate::store::Store;
use crate::subscriber::Subscriber;

/// Rows looked at in one read.
const PAGE: i64 = 500;
/// For how long one round of upkeep goes on looking.
pub(crate) const ROUND: Duration = Duration::from_millis(100);

/// Up to where the rows have been looked at.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    event_type: String,
    waits_for: String,
    available_at: i64,
    row: i64,
}

/// A page's rows to wake, and the last row that was looked at.
#[derive(serde::Deserialize)]
struct Page {
    rows: Vec<i64>,
    last: Option<(i64, i64)>,
}

/// Lets claims look at waiting rows that nothing else would wake. After `most` it ends; the next call goes on there.
pub(crate) async fn wake(
    store: &Store,
    subscriber: &Subscriber,
    now: Timestamp,
    most: Duration,
) -> Result<(), StoreError> {
    let began = Instant::now();
    let from = subscriber.looked_up_to();
    for (event_type, waits_for) in kinds(store, subscriber).await? {
        let mut place = Place { event_type, waits_for, available_at: i64::MIN, row: i64::MIN };
        match &from {
            Some(from) if place.is_of_an_earlier_kind_than(from) => continue,
            Some(from) if from.is_of_the_kind_of(&place) => place = from.clone(),
            _ => {}
        }
        loop {
            if began.elapsed() > most {
                subscriber.look_on_from(Some(place));
                return Ok(());
            }
            let page = page(store, subscriber, &place, now).await?;
            wake_rows(store, page.rows).await?;
            let Some(last) = page.last else { break };
            (place.available_at, place.row) = last;
        }
    }
    subscriber.look_on_from(None);
    Ok(())
}

impl Place {
    fn is_of_the_kind_of(&self, other: &Place) -> bool {
        (&self.event_type, &self.waits_for) == (&other.event_type, &other.waits_for)
    }

    fn is_of_an_earlier_kind_than(&self, other: &Place) -> bool {
        (&self.event_type, &self.waits_for) < (&other.event_type, &other.waits_for)
    }
}

async fn kinds(store: &Store, subscriber: &Subscriber) -> Result<Vec<(String, String)>, StoreError> {
    let handlers = subscriber.handlers.clone();
    let read = store.read(|connection: &mut SqliteConnection| {
        Box::pin(async move {
            let kinds = sqlx::query(include_str!("sql/stranded_kinds.sql")).bind(handlers);
            let kinds = kinds.fetch_all(connection).await.and_then(|rows| {
                Ok(columns::texts(&rows, "event_type")?.into_iter().zip(columns::texts(&rows, "waits_for")?))
            });
            Ok(kinds.map_err(|e| store_error("look at what waits", e))?.collect())
        })
    });
    read.await
}

async fn page(
    store: &Store,
    subscriber: &Subscriber,
    place: &Place,
    now: Timestamp,
) -> Result<Page, StoreError> {
    let (handlers, grants, place) = (subscriber.handlers.clone(), subscriber.grants, place.clone());
    let read = store.read(move |connection| {
        Box::pin(async move {
            let page = sqlx::query_scalar::<_, String>(include_str!("sql/stranded_page.sql"))
                .bind(now.as_millis())
                .bind(handlers)
                .bind(place.event_type)
                .bind(place.waits_for)
                .bind(place.available_at)
                .bind(place.row)
                .bind(PAGE)
                .bind(grants);
            page.fetch_one(connection).await.map_err(|e| store_error("look at waiting rows", e))
        })
    });
    serde_json::from_str(&read.await?)
        .map_err(|e| StoreError::with_source(StoreErrorKind::Corrupt, "cannot read waiting rows", e))
}

async fn wake_rows(store: &Store, rows: Vec<i64>) -> Result<(), StoreError> {
    if rows.is_empty() {
        return Ok(());
    }
    let rows = serde_json::json!(rows).to_string();
    let woken = store.writer()?.transaction(move |connection| {
        Box::pin(async move {
            let wake = sqlx::query(include_str!("sql/stranded_wake.sql")).bind(rows);
            wake.execute(connection).await.map_err(|e| store_error("wake waiting rows", e))?;
            Ok(())
        })
    });
    woken.await
}
