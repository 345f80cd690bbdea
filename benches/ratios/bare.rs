//! Loops written with the bare drivers over the same tables: what the library is compared with.

pub(crate) mod rusqlite_drain;
pub(crate) mod sqlx_drain;

use std::time::{SystemTime, UNIX_EPOCH};

/// The present moment as the tables hold it.
pub(crate) fn now_ms() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as i64)
}

/// For how long the bare loops claim.
pub(crate) const LEASE_MS: i64 = 60_000;

/// Rows per batch.
pub(crate) const BATCH: i64 = 100;

/// Takes the oldest due rows. One type and no key: what the library finds out about order and other handlers, these
/// loops take for granted.
pub(crate) const CLAIM_ROWS: &str = "
    UPDATE event_queue SET status = 'processing', claimed_at = ?1, claimed_by = ?2, attempts = attempts + 1
    WHERE id IN (
        SELECT id FROM event_queue
        WHERE status = 'pending' AND event_type = 'bench.noted' AND waits_for = '' AND available_at <= ?1
        ORDER BY available_at, id LIMIT ?3
    )
    RETURNING id, event_id, payload";

/// Claims them in the ledger. ?1: JSON array of event ids.
pub(crate) const CLAIM_LEDGER: &str = "
    INSERT INTO processed_events (event_id, handler, status, started_at, lease_until, owner, attempts)
    SELECT value, 'bare', 'in_progress', ?2, ?3, ?4, 1 FROM json_each(?1)";

/// Marks claims as done. ?1: JSON array of event ids.
pub(crate) const FINISH_LEDGER: &str = "
    UPDATE processed_events SET status = 'done', processed_at = ?2, lease_until = NULL
    FROM json_each(?1) AS j
    WHERE event_id = j.value AND handler = 'bare' AND owner = ?3 AND started_at = ?4 AND status = 'in_progress'";

/// Marks rows as done. ?1: JSON array of row ids.
pub(crate) const FINISH_ROWS: &str = "
    UPDATE event_queue SET status = 'done', finished_at = ?2, claimed_at = NULL, claimed_by = NULL
    WHERE id IN (SELECT value FROM json_each(?1)) AND claimed_by = ?3 AND status = 'processing'";

/// A batch in hand.
#[derive(Default)]
pub(crate) struct Batch {
    pub(crate) rows: Vec<i64>,
    pub(crate) ids: Vec<String>,
    pub(crate) payloads: Vec<String>,
}

impl Batch {
    pub(crate) fn add(&mut self, (row, id, payload): (i64, String, String)) {
        self.rows.push(row);
        self.ids.push(id);
        self.payloads.push(payload);
    }

    pub(crate) fn row_array(&self) -> String {
        serde_json::to_string(&self.rows).unwrap_or_default()
    }

    pub(crate) fn id_array(&self) -> String {
        serde_json::to_string(&self.ids).unwrap_or_default()
    }
}
