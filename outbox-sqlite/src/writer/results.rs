//! What comes out of the statements.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use outbox_core::{
    Claim, ClaimRequest, ClaimToken, Envelope, EventId, Receipt, Received, StoreError, StoreErrorKind,
    Timestamp,
};
use serde_json::Value;
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::command::{Batch, ReceiveRequest, Reply};
use super::on_the_way::OnTheWay;
use crate::columns::{self, clamped};
use crate::error::store_error;

/// What a group's statements returned, by part.
#[derive(Default)]
pub(super) struct Results {
    pub(super) changed: i64,
    pub(super) renewed: i64,
    /// Whether a row was settled before the mark of one of its handlers.
    pub(super) settled_early: bool,
    /// Whether what was settled may have made something available to a worker.
    pub(super) wakes: bool,
    /// Whether foreign rows were given ids.
    pub(super) gave_ids: bool,
    /// By how much leases were moved on, since the lock was waited for.
    pub(super) late: Duration,
    pub(super) enqueued: Vec<String>,
    /// JSON, and beside it the payloads.
    pub(super) received: Option<(String, Vec<u8>)>,
    pub(super) claims: Option<String>,
}

impl Results {
    pub(super) fn read(rows: &[SqliteRow]) -> Result<Self, StoreError> {
        let mut results = Self::default();
        for row in rows {
            let failed = |e| store_error("read the result of a write", e);
            let text = || columns::text(row, "value").map(Option::unwrap_or_default);
            match row.try_get::<&str, _>(0).map_err(failed)? {
                "changed" => results.changed += row.try_get::<i64, _>(1).map_err(failed)?,
                "renewed" => results.renewed = row.try_get(1).map_err(failed)?,
                "early" => results.settled_early |= row.try_get::<bool, _>(1).map_err(failed)?,
                "wakes" => results.wakes |= row.try_get::<bool, _>(1).map_err(failed)?,
                "ids" => results.gave_ids = row.try_get::<bool, _>(1).map_err(failed)?,
                "enqueued" => results.enqueued.push(text().map_err(failed)?),
                "received" => {
                    let payloads = row.try_get_unchecked::<Option<_>, _>("payloads").map_err(failed)?;
                    results.received = Some((text().map_err(failed)?, payloads.unwrap_or_default()));
                }
                _ => results.claims = Some(text().map_err(failed)?),
            }
        }
        Ok(results)
    }
}

fn unreadable(what: &str, error: serde_json::Error) -> StoreError {
    StoreError::with_source(StoreErrorKind::Corrupt, format!("cannot read {what}"), error)
}

/// id, event_id, type, version, key, bytes of the payload, headers, created_at
type EventColumns = (i64, String, String, Value, Option<String>, Option<usize>, Option<String>, Option<i64>);
/// row, handler, started_at, attempts, lease_until
type ClaimColumns = (i64, String, i64, i64, i64);

#[derive(serde::Deserialize)]
struct ReceivedParts {
    events: Vec<EventColumns>,
    claims: Vec<ClaimColumns>,
    parked: u64,
}

/// Reads `receive_result.sql`.
pub(super) fn batch(
    (text, payloads): &(String, Vec<u8>),
    request: &ReceiveRequest,
    late: Duration,
) -> Result<Batch, StoreError> {
    let mut payloads = &payloads[..];
    let parts: ReceivedParts = serde_json::from_str(text).map_err(|e| unreadable("received events", e))?;
    let (mut received, mut unreadable) = (Vec::new(), Vec::new());
    let mut claims = HashMap::<i64, Vec<ClaimColumns>>::new();
    for claim in parts.claims {
        claims.entry(claim.0).or_default().push(claim);
    }
    for columns in parts.events {
        let receipt =
            Receipt { message: Arc::from(columns.0.to_string()), token: Arc::clone(&request.token) };
        let row = columns.0;
        let envelope = match envelope(columns, &mut payloads) {
            Ok(envelope) => envelope,
            Err(reason) => {
                unreadable.push((receipt, reason));
                continue;
            }
        };
        let own = claims.remove(&row).unwrap_or_default().into_iter().map(
            |(_, handler, started_at, attempts, until)| ClaimToken {
                event_id: envelope.id,
                handler: Arc::from(handler),
                owner: request.subscriber.owner,
                started_at: Timestamp::from_millis(started_at),
                attempt: clamped(attempts),
                lease_until: Timestamp::from_millis(until).after(late),
            },
        );
        let claims = request.subscriber.grants.then(|| own.collect());
        received.push(Received { envelope: Arc::new(envelope), receipt, claims });
    }
    Ok(Batch { received: OnTheWay::new(received, request), unreadable, parked: parts.parked })
}

/// Takes the event's payload from the front of `payloads`.
fn envelope(columns: EventColumns, payloads: &mut &[u8]) -> Result<Envelope, String> {
    let (_, id, event_type, version, key, bytes, headers, created_at) = columns;
    let payload = bytes.and_then(|bytes| payloads.split_off(..bytes));
    let parsed: EventId = id.parse().map_err(|e: outbox_core::ParseEventIdError| e.to_string())?;
    if parsed.to_string() != id {
        return Err(format!(
            "event_id {id:?} is not in the form {parsed}, under which another row may stand"
        ));
    }
    Ok(Envelope {
        id: parsed,
        event_type,
        version: version
            .as_u64()
            .and_then(|v| u32::try_from(v).ok())
            .ok_or(format!("event_version {version}"))?,
        key,
        payload: String::from_utf8_lossy(payload.ok_or("payload is NULL")?).into_owned(),
        // A foreign writer's headers that are no map of strings are left out; the payload is what counts.
        headers: headers.and_then(|headers| serde_json::from_str(&headers).ok()).unwrap_or_default(),
        occurred_at: Timestamp::from_millis(created_at.unwrap_or(0)),
    })
}

/// n, granted, status, started_at, attempts, lease_until
type AnswerColumns = (usize, u8, String, i64, i64, Option<i64>);

/// Reads `claim_result.sql` and answers each claim.
pub(super) fn answer_claims(text: &str, claims: Vec<(ClaimRequest, Reply<Claim>)>, late: Duration) {
    let answers: Result<Vec<AnswerColumns>, _> = serde_json::from_str(text);
    let mut answers = match answers {
        Ok(answers) => answers.into_iter().map(|answer| (answer.0, answer)).collect::<HashMap<_, _>>(),
        Err(error) => {
            let failure = unreadable("claims", error);
            claims.into_iter().for_each(|(_, reply)| drop(reply.send(Err(failure.clone()))));
            return;
        }
    };
    for (n, (request, reply)) in claims.into_iter().enumerate() {
        let missing =
            || StoreError::new(StoreErrorKind::Other, "a claim has no ledger row after it was granted");
        let _ = reply.send(answers.remove(&n).ok_or_else(missing).map(|answer| claim(request, answer, late)));
    }
}

fn claim(
    request: ClaimRequest,
    (_, granted, status, started_at, attempts, lease_until): AnswerColumns,
    late: Duration,
) -> Claim {
    let lease_until = Timestamp::from_millis(lease_until.unwrap_or_default());
    match status.as_str() {
        "done" => Claim::Done,
        "dead" => Claim::Dead,
        _ if granted == 1 => Claim::Granted(ClaimToken {
            event_id: request.event_id,
            handler: request.handler,
            owner: request.owner,
            started_at: Timestamp::from_millis(started_at),
            attempt: clamped(attempts),
            lease_until: lease_until.after(late),
        }),
        _ => Claim::Held { until: lease_until },
    }
}

/// Reads `held.sql`: state, and whether it is under the caller's token, in order.
pub(super) fn held(text: &str) -> Result<Vec<(Option<String>, bool)>, StoreError> {
    let rows: Vec<(usize, Option<String>, u8)> =
        serde_json::from_str(text).map_err(|e| unreadable("claims", e))?;
    let mut held = vec![(None, false); rows.len()];
    for (n, status, ours) in rows {
        if let Some(place) = held.get_mut(n) {
            *place = (status, ours == 1);
        }
    }
    Ok(held)
}
