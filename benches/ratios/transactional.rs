//! Handlers that write one row in their own transaction, together with the ledger mark.

use anyhow::{Result, ensure};
use outbox::{Handler, NewEvent, SqliteTx, State, Synchronous, event_handler};

use crate::arguments::Scale;
use crate::bare::{BATCH, sqlx_drain};
use crate::database::{Database, MODES};
use crate::events::Noted;
use crate::report::{self, Target};
use crate::rounds::compare;
use crate::worker::{self, Countdown};

/// What the handler does.
pub(crate) const EFFECT: &str = "INSERT INTO note (number, text) VALUES (?1, ?2)";
const TABLE: &str = "CREATE TABLE note (number INTEGER PRIMARY KEY, text TEXT NOT NULL)";

const CONCURRENCY: usize = 64;

#[event_handler(name = "write_note", idempotency(skip = "a benchmark"))]
async fn write_note(
    event: Noted,
    State(countdown): State<Countdown>,
    tx: &mut SqliteTx<'_>,
) -> Result<(), sqlx::Error> {
    sqlx::query(EFFECT).bind(event.number as i64).bind(event.text).execute(&mut **tx).await?;
    countdown.down();
    Ok(())
}

static WRITE_NOTE: &Handler = &write_note::HANDLER;

pub(crate) async fn run(scale: Scale) -> Result<()> {
    let count = scale.rows(8_000);
    for (synchronous, mode) in MODES {
        let comparison = compare(
            scale.rounds(),
            async || ours(synchronous, count).await,
            async || bare(synchronous, count).await,
        )
        .await?;
        report::ratio(
            &format!("transactional handlers, {mode}"),
            &comparison,
            Target::AtLeast(0.8),
            &format!(
                "backlog {count}, concurrency {CONCURRENCY}; sqlx: 1 connection, claims {BATCH}, \
                 1 transaction per event; {mode}"
            ),
        );
    }
    Ok(())
}

async fn filled(synchronous: Synchronous, count: usize) -> Result<Database> {
    let database = Database::new(synchronous).await?;
    database.script(TABLE).await?;
    database.fill(count, |number| Ok(NewEvent::new(&Noted::new(number as u64))?)).await?;
    Ok(database)
}

async fn ours(synchronous: Synchronous, count: usize) -> Result<f64> {
    let database = filled(synchronous, count).await?;
    let rate = worker::handle(database.store(), WRITE_NOTE, count, CONCURRENCY).await?;
    expect_effects(&database, count).await?;
    Ok(rate)
}

async fn bare(synchronous: Synchronous, count: usize) -> Result<f64> {
    let database = filled(synchronous, count).await?;
    let rate = sqlx_drain::drain(&mut database.sqlx().await?, count).await?;
    expect_effects(&database, count).await?;
    Ok(rate)
}

async fn expect_effects(database: &Database, count: usize) -> Result<()> {
    database.expect_done(count).await?;
    let effects = database.number("SELECT count(*) FROM note").await?;
    ensure!(effects == count as i64, "{effects} of {count} effects are there");
    Ok(())
}
