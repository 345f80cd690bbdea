//! Handling events that need nothing done, with the ledger: what is left is the framework.

use anyhow::Result;
use outbox::{NewEvent, Synchronous};

use crate::arguments::Scale;
use crate::bare::{BATCH, rusqlite_drain};
use crate::database::{Database, MODES};
use crate::events::Noted;
use crate::report::{self, Target};
use crate::rounds::compare;
use crate::worker::{self, NOOP};

/// Handler runs at a time: the default, and one at which a claim is larger.
const CONCURRENCIES: [usize; 2] = [64, 256];

pub(crate) async fn run(scale: Scale) -> Result<()> {
    let count = scale.rows(20_000);
    for (synchronous, mode) in MODES {
        for concurrency in CONCURRENCIES {
            let comparison = compare(
                scale.rounds(),
                async || ours(synchronous, count, concurrency).await,
                async || bare(synchronous, count).await,
            )
            .await?;
            report::ratio(
                &format!("drain at concurrency {concurrency}, {mode}"),
                &comparison,
                Target::AtLeast(0.45),
                &format!("backlog {count}, one handler; rusqlite: {BATCH} per batch, 2 transactions; {mode}"),
            );
        }
    }
    Ok(())
}

async fn filled(synchronous: Synchronous, count: usize) -> Result<Database> {
    let database = Database::new(synchronous).await?;
    database.fill(count, |number| Ok(NewEvent::new(&Noted::new(number as u64))?)).await?;
    Ok(database)
}

async fn ours(synchronous: Synchronous, count: usize, concurrency: usize) -> Result<f64> {
    let database = filled(synchronous, count).await?;
    let rate = worker::handle(database.store(), NOOP, count, concurrency).await?;
    database.expect_done(count).await?;
    Ok(rate)
}

async fn bare(synchronous: Synchronous, count: usize) -> Result<f64> {
    let database = filled(synchronous, count).await?;
    let rate = rusqlite_drain::drain(&mut database.rusqlite()?, count)?;
    database.expect_done(count).await?;
    Ok(rate)
}
