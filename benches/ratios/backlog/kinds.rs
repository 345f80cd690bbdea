//! Kinds of rows that wait.

use std::time::{Duration, SystemTime};

use anyhow::{Result, ensure};
use outbox::{Bus, Ledger, NewEvent, Release, Settlement, Synchronous};

use super::claims::Claimant;
use crate::database::Database;
use crate::events::{Noted, NotedInOrder};

/// Rows that can be claimed at once, beside those that cannot.
pub(crate) const READY: usize = 10_000;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Every row can be claimed.
    Handled,
    /// Nobody handles their type.
    Unhandled,
    /// They stand behind an event of their key that failed, enqueued through the library.
    BlockedKey,
    /// The same, inserted by another program with its own SQL.
    ForeignKey,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::Handled, Self::Unhandled, Self::BlockedKey, Self::ForeignKey];

    pub(crate) fn about(self) -> &'static str {
        match self {
            Self::Handled => "ready rows",
            Self::Unhandled => "of a type nobody handles",
            Self::BlockedKey => "behind a blocked key",
            Self::ForeignKey => "foreign behind a blocked key",
        }
    }

    /// A database with `backlog` rows of this kind and, except for the first, [`READY`] rows behind them.
    pub(crate) async fn build(self, backlog: usize) -> Result<Database> {
        let database = Database::new(Synchronous::Normal).await?;
        let ready = |number| Ok(NewEvent::new(&Noted::new(number as u64))?);
        match self {
            Self::Handled => return database.fill(backlog, ready).await.map(|()| database),
            Self::Unhandled => {
                let unhandled = |number| Ok(NewEvent::raw("bench.unknown", payload(number)?));
                database.fill(backlog, unhandled).await?;
            }
            Self::BlockedKey => {
                block(&database).await?;
                database.fill(backlog, |number| Ok(NewEvent::new(&in_order(number))?)).await?;
            }
            Self::ForeignKey => {
                block(&database).await?;
                database.script(&foreign(backlog)?).await?;
            }
        }
        database.fill(READY, ready).await?;
        Ok(database)
    }
}

fn payload(number: usize) -> Result<String> {
    Ok(serde_json::to_string(&Noted::new(number as u64))?)
}

fn in_order(number: usize) -> NotedInOrder {
    NotedInOrder::new("subject".to_owned(), number as u64)
}

/// One event of the key that has failed and is due again in an hour.
async fn block(database: &Database) -> Result<()> {
    let store = database.store();
    database.fill(1, |number| Ok(NewEvent::new(&in_order(number))?)).await?;
    let claimant = Claimant::new(database, Synchronous::Normal).await?;
    let [received] = &claimant.bus().receive(1).await?[..] else {
        anyhow::bail!("the first event of the key was not received");
    };
    let Some([claim]) = received.claims.as_deref() else {
        anyhow::bail!("the first event of the key came without its claim");
    };
    let due = (SystemTime::now() + Duration::from_secs(3_600)).into();
    let release = Release { due, error: Some("fails".to_owned()), refund: false };
    store.ledger().release(claim, &release).await?;
    let retry = Settlement::Retry { at: due, error: "fails".to_owned() };
    claimant.bus().settle(vec![(received.receipt.clone(), retry)]).await?;
    ensure!(claimant.bus().receive(1).await?.is_empty(), "the first event of the key was received again");
    Ok(())
}

/// What a program without the library would write: neither ids nor what a row waits for.
fn foreign(backlog: usize) -> Result<String> {
    let payload = serde_json::to_string(&in_order(0))?;
    Ok(format!(
        "INSERT INTO event_queue (event_type, event_key, payload)
         WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < {backlog})
         SELECT 'bench.noted_in_order', 'subject', '{payload}' FROM numbers;
         PRAGMA wal_checkpoint(TRUNCATE)"
    ))
}
