//! The physical limit: rusqlite on the calling thread, two transactions per batch.

use std::hint::black_box;
use std::time::Instant;

use anyhow::{Result, ensure};
use rusqlite::{Connection, TransactionBehavior, params};
use uuid::Uuid;

use super::{BATCH, Batch, CLAIM_LEDGER, CLAIM_ROWS, FINISH_LEDGER, FINISH_ROWS, LEASE_MS, now_ms};
use crate::events::Noted;

/// Handles everything that is due. Events per second.
pub(crate) fn drain(connection: &mut Connection, count: usize) -> Result<f64> {
    let owner = Uuid::new_v4().to_string();
    let start = Instant::now();
    let mut handled = 0;
    loop {
        let claimed_at = now_ms();
        let batch = claim(connection, &owner, claimed_at)?;
        if batch.rows.is_empty() {
            break;
        }
        for payload in &batch.payloads {
            // The handler: like the library's, it takes the event as a struct and does nothing with it.
            black_box(serde_json::from_str::<Noted>(payload)?);
        }
        finish(connection, &owner, claimed_at, &batch)?;
        handled += batch.rows.len();
    }
    ensure!(handled == count, "the bare loop handled {handled} of {count}");
    Ok(count as f64 / start.elapsed().as_secs_f64())
}

fn claim(connection: &mut Connection, owner: &str, now: i64) -> Result<Batch> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    let mut batch = Batch::default();
    {
        let mut rows = transaction.prepare_cached(CLAIM_ROWS)?;
        let claimed =
            rows.query_map(params![now, owner, BATCH], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?)))?;
        for row in claimed {
            batch.add(row?);
        }
        let mut ledger = transaction.prepare_cached(CLAIM_LEDGER)?;
        ledger.execute(params![batch.id_array(), now, now + LEASE_MS, owner])?;
    }
    transaction.commit()?;
    Ok(batch)
}

fn finish(connection: &mut Connection, owner: &str, claimed_at: i64, batch: &Batch) -> Result<()> {
    let now = now_ms();
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    {
        let mut ledger = transaction.prepare_cached(FINISH_LEDGER)?;
        ledger.execute(params![batch.id_array(), now, owner, claimed_at])?;
        let mut rows = transaction.prepare_cached(FINISH_ROWS)?;
        rows.execute(params![batch.row_array(), now, owner])?;
    }
    transaction.commit()?;
    Ok(())
}
