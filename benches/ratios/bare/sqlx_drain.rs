//! What one would write with sqlx for handlers with an effect in the database: claim a batch, one transaction per
//! event with the effect and the ledger mark, then mark the batch's rows as done.

use std::time::Instant;

use anyhow::{Result, ensure};
use sqlx::Connection;
use sqlx::sqlite::SqliteConnection;
use uuid::Uuid;

use super::{BATCH, Batch, CLAIM_LEDGER, CLAIM_ROWS, FINISH_ROWS, LEASE_MS, now_ms};
use crate::events::Noted;

/// Handles everything that is due on one dedicated connection. Events per second.
pub(crate) async fn drain(connection: &mut SqliteConnection, count: usize) -> Result<f64> {
    let owner = Uuid::new_v4().to_string();
    let start = Instant::now();
    let mut handled = 0;
    loop {
        let claimed_at = now_ms();
        let batch = claim(connection, &owner, claimed_at).await?;
        if batch.rows.is_empty() {
            break;
        }
        for (id, payload) in batch.ids.iter().zip(&batch.payloads) {
            handle(connection, &owner, claimed_at, id, &serde_json::from_str(payload)?).await?;
        }
        let rows = sqlx::query(FINISH_ROWS).bind(batch.row_array()).bind(now_ms()).bind(&owner);
        rows.execute(&mut *connection).await?;
        handled += batch.rows.len();
    }
    ensure!(handled == count, "the bare loop handled {handled} of {count}");
    Ok(count as f64 / start.elapsed().as_secs_f64())
}

async fn claim(connection: &mut SqliteConnection, owner: &str, now: i64) -> Result<Batch> {
    let mut tx = connection.begin_with("BEGIN IMMEDIATE").await?;
    let rows = sqlx::query_as(CLAIM_ROWS).bind(now).bind(owner).bind(BATCH);
    let mut batch = Batch::default();
    rows.fetch_all(&mut *tx).await?.into_iter().for_each(|row| batch.add(row));
    let ledger = sqlx::query(CLAIM_LEDGER).bind(batch.id_array()).bind(now).bind(now + LEASE_MS).bind(owner);
    ledger.execute(&mut *tx).await?;
    tx.commit().await?;
    Ok(batch)
}

async fn handle(
    connection: &mut SqliteConnection,
    owner: &str,
    claimed_at: i64,
    id: &str,
    event: &Noted,
) -> Result<()> {
    let mut tx = connection.begin_with("BEGIN IMMEDIATE").await?;
    let effect = sqlx::query(crate::transactional::EFFECT).bind(event.number as i64).bind(&event.text);
    effect.execute(&mut *tx).await?;
    let mark = "UPDATE processed_events SET status = 'done', processed_at = ?1, lease_until = NULL
        WHERE event_id = ?2 AND handler = 'bare' AND owner = ?3 AND started_at = ?4 AND status = 'in_progress'";
    let marked =
        sqlx::query(mark).bind(now_ms()).bind(id).bind(owner).bind(claimed_at).execute(&mut *tx).await?;
    ensure!(marked.rows_affected() == 1, "the claim of {id} is gone");
    tx.commit().await?;
    Ok(())
}
