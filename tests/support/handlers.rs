//! The handlers of the test's processes: they do what the event says, and note it in the journal.

use std::time::Duration;

use outbox::Handler;
use outbox::prelude::*;
use serde::{Deserialize, Serialize};

use super::journal::Journal;

/// Work for `job`, a handler without a transaction.
#[derive(Debug, Clone, Serialize, Deserialize, Event)]
#[event(type = "test.job")]
pub(crate) struct Job {
    pub(crate) does: Does,
}

/// Work for `count`, whose effect is a row in a table and must be there exactly once.
#[derive(Debug, Clone, Serialize, Deserialize, Event)]
#[event(type = "test.count")]
pub(crate) struct Count {
    pub(crate) does: Does,
}

/// What a run does between its begin and its end.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) enum Does {
    /// Nothing more.
    Nothing,
    /// Awaits for so many milliseconds.
    Sleep(u64),
    /// Blocks its thread for so many milliseconds, as a handler should not.
    Block(u64),
    /// Fails, every time.
    Fail,
}

impl Does {
    async fn run(&self) -> Result<(), std::io::Error> {
        match *self {
            Does::Nothing => {}
            Does::Sleep(millis) => tokio::time::sleep(Duration::from_millis(millis)).await,
            Does::Block(millis) => std::thread::sleep(Duration::from_millis(millis)),
            Does::Fail => return Err(std::io::Error::other("this one always fails")),
        }
        Ok(())
    }
}

/// The tables that `count` works on.
pub(crate) const COUNT_TABLES: &str = "
    CREATE TABLE counter (value INTEGER NOT NULL);
    INSERT INTO counter VALUES (0);
    CREATE TABLE effect (event_id TEXT NOT NULL, attempt INTEGER NOT NULL)";

/// The handlers of the test's processes.
pub(crate) fn all() -> [&'static Handler; 2] {
    [&job::HANDLER, &count::HANDLER]
}

#[event_handler(name = "job", idempotency(skip = "a tool of the tests"))]
pub(crate) async fn job(
    event: Job,
    delivery: Delivery,
    State(journal): State<Journal>,
) -> Result<(), std::io::Error> {
    journal.note("begin", &delivery);
    event.does.run().await?;
    journal.note("end", &delivery);
    Ok(())
}

#[event_handler(name = "count", idempotency(skip = "a tool of the tests"))]
pub(crate) async fn count(
    event: Count,
    delivery: Delivery,
    State(journal): State<Journal>,
    tx: &mut SqliteTx<'_>,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    journal.note("begin", &delivery);
    sqlx::query("UPDATE counter SET value = value + 1").execute(&mut **tx).await?;
    sqlx::query("INSERT INTO effect (event_id, attempt) VALUES ($1, $2)")
        .bind(delivery.event_id.to_string())
        .bind(delivery.attempt)
        .execute(&mut **tx)
        .await?;
    event.does.run().await?;
    journal.note("end", &delivery);
    Ok(())
}
