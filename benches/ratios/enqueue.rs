//! Enqueueing in the caller's own transaction, beside a hand-written INSERT there.

use std::time::Instant;

use anyhow::{Result, ensure};
use outbox::{Enqueue, Synchronous};
use serde::Serialize;
use uuid::Uuid;

use crate::arguments::Scale;
use crate::database::{Database, MODES};
use crate::events::{Noted, NotedInOrder};
use crate::report::{self, Target};
use crate::rounds::compare;

/// The application's data, written in the same transaction.
const DATA: &str = "INSERT INTO note (number, text) VALUES (?1, ?2)";
const TABLE: &str = "CREATE TABLE note (id INTEGER PRIMARY KEY, number INTEGER NOT NULL, text TEXT NOT NULL)";

const INSERT: &str = "INSERT INTO event_queue (event_id, event_type, payload) VALUES (?1, ?2, ?3)";
const INSERT_WITH_KEY: &str =
    "INSERT INTO event_queue (event_id, event_type, event_key, payload) VALUES (?1, ?2, ?3, ?4)";

/// Keys in use, so that nearly every event stands behind an unfinished one of its key.
const KEYS: usize = 100;

pub(crate) async fn run(scale: Scale) -> Result<()> {
    for (synchronous, mode) in MODES {
        let count = scale.rows(if synchronous == Synchronous::Full { 500 } else { 3_000 });
        let conditions = format!(
            "1 caller, pool of 8, {count} transactions a round: BEGIN IMMEDIATE, data, event, COMMIT; {mode}"
        );
        for (with_key, what) in [(false, "without a key"), (true, "with a key")] {
            let database = Database::new(synchronous).await?;
            database.script(TABLE).await?;
            let comparison = compare(
                scale.rounds(),
                async || ours(&database, count, with_key).await,
                async || by_hand(&database, count, with_key).await,
            )
            .await?;
            let written = database.number("SELECT count(*) FROM event_queue").await?;
            let wanted = (2 * count * (scale.rounds() + 1)) as i64;
            ensure!(written == wanted, "{written} of {wanted} events were written");
            report::time_ratio(
                &format!("enqueue {what}, {mode}"),
                &comparison,
                Target::AtMost(1.2),
                &conditions,
            );
        }
    }
    Ok(())
}

fn subject(number: usize) -> String {
    format!("subject-{}", number % KEYS)
}

async fn ours(database: &Database, count: usize, with_key: bool) -> Result<f64> {
    let start = Instant::now();
    for number in 0..count {
        let mut tx = database.store().pool().begin_with("BEGIN IMMEDIATE").await?;
        sqlx::query(DATA).bind(number as i64).bind("a note").execute(&mut *tx).await?;
        if with_key {
            tx.enqueue(&NotedInOrder::new(subject(number), number as u64)).await?;
        } else {
            tx.enqueue(&Noted::new(number as u64)).await?;
        }
        tx.commit().await?;
    }
    Ok(count as f64 / start.elapsed().as_secs_f64())
}

async fn by_hand(database: &Database, count: usize, with_key: bool) -> Result<f64> {
    let start = Instant::now();
    for number in 0..count {
        let mut tx = database.store().pool().begin_with("BEGIN IMMEDIATE").await?;
        sqlx::query(DATA).bind(number as i64).bind("a note").execute(&mut *tx).await?;
        let id = Uuid::now_v7().to_string();
        let insert = if with_key {
            let event = NotedInOrder::new(subject(number), number as u64);
            sqlx::query(INSERT_WITH_KEY)
                .bind(id)
                .bind("bench.noted_in_order")
                .bind(event.subject.clone())
                .bind(json(&event)?)
        } else {
            sqlx::query(INSERT).bind(id).bind("bench.noted").bind(json(&Noted::new(number as u64))?)
        };
        insert.execute(&mut *tx).await?;
        tx.commit().await?;
    }
    Ok(count as f64 / start.elapsed().as_secs_f64())
}

fn json(event: &impl Serialize) -> Result<String> {
    Ok(serde_json::to_string(event)?)
}
