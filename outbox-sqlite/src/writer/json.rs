//! What goes into the statements and comes out of them: one JSON value each.

use std::collections::HashMap;
use std::sync::Arc;

use outbox_core::{
    Claim, ClaimRequest, ClaimToken, Envelope, EventId, ReadyEvent, Receipt, Received, Settlement,
    StoreError, StoreErrorKind, Timestamp,
};
use serde_json::{Value, json};
use sqlx::Row;
use sqlx::sqlite::SqliteRow;

use super::command::{Batch, Change, ReceiveRequest, Reply};
use super::group::Group;
use crate::columns::{self, clamped};
use crate::error::store_error;

/// The arguments `$1` to `$8` of a group's statements (`$9` is the time). What a group lacks is NULL.
pub(super) fn arguments(group: &Group, now: Timestamp) -> [Option<String>; 8] {
    let some = |is_empty: bool, value: &dyn Fn() -> String| (!is_empty).then(value);
    [
        some(group.enqueues.is_empty(), &|| enqueued(group.enqueues.iter().flat_map(|(events, _)| events))),
        group.receive.as_ref().map(|(request, _)| receive(request, now)),
        some(group.changes.is_empty(), &|| {
            array(group.changes.iter().map(|(token, change, _)| changed(token, change, now)))
        }),
        some(group.renewals.is_empty(), &|| {
            array(group.renewals.iter().map(|(token, lease, _)| {
                let mut renewal = token_parts(token);
                renewal.push(json!(now.after(*lease).as_millis()));
                Value::from(renewal)
            }))
        }),
        some(group.settlements.is_empty(), &|| {
            let items = group.settlements.iter().flat_map(|(_, items, _)| items);
            json!({ "items": items.map(|item| settled(&item.receipt, &item.settlement)).collect::<Vec<_>>() })
                .to_string()
        }),
        group
            .settling()
            .or(group.receive.as_ref().map(|(request, _)| &request.subscriber))
            .map(|subscriber| format!(r#"{{"handlers":{},"anyone":0}}"#, subscriber.handlers))
            .or_else(|| Some(r#"{"handlers":[],"anyone":1}"#.to_owned())),
        some(group.extensions.is_empty(), &|| {
            array(
                group
                    .extensions
                    .iter()
                    .flat_map(|(receipts, _)| receipts)
                    .map(|r| json!([row(r), &*r.token])),
            )
        }),
        some(group.claims.is_empty(), &|| {
            array(group.claims.iter().enumerate().map(|(n, (request, _))| claimed(n, request)))
        }),
    ]
}

fn array(items: impl Iterator<Item = Value>) -> String {
    Value::from(items.collect::<Vec<_>>()).to_string()
}

fn row(receipt: &Receipt) -> i64 {
    // A receipt of another bus names no row.
    receipt.message.parse().unwrap_or(-1)
}

/// Events for `enqueue_many.sql`.
pub(crate) fn enqueued<'a>(events: impl Iterator<Item = &'a ReadyEvent>) -> String {
    array(events.map(|event| {
        let envelope = &event.envelope;
        json!([
            envelope.id,
            envelope.event_type,
            envelope.version,
            envelope.key,
            envelope.payload,
            headers(envelope),
            event.available_at,
            envelope.occurred_at,
        ])
    }))
}

/// Headers as the column holds them.
pub(crate) fn headers(envelope: &Envelope) -> String {
    serde_json::to_string(&envelope.headers).unwrap_or_else(|_| unreachable!("a map of strings is JSON"))
}

fn receive(request: &ReceiveRequest, now: Timestamp) -> String {
    format!(
        r#"{{"owner":"{}","token":"{}","max":{},"window":{},"expired_before":{},"probes":{},"handlers":{}}}"#,
        request.subscriber.owner,
        request.token,
        request.max,
        request.window,
        now.before(request.queue_lease).as_millis(),
        request.probes,
        request.subscriber.handlers,
    )
}

fn token_parts(token: &ClaimToken) -> Vec<Value> {
    vec![json!(token.event_id), json!(&*token.handler), json!(token.owner), json!(token.started_at)]
}

/// A token for `held.sql`.
pub(super) fn token(token: &ClaimToken) -> Value {
    Value::from(token_parts(token))
}

fn changed(token: &ClaimToken, change: &Change, now: Timestamp) -> Value {
    let mut parts = token_parts(token);
    parts.push(json!(change.status()));
    parts.extend(match change {
        Change::Done => [json!(now), Value::Null, Value::Null, json!(0)],
        Change::Release(release) => {
            [Value::Null, json!(release.due), json!(release.error), json!(i32::from(release.refund))]
        }
        Change::Bury(reason) => [json!(now), Value::Null, json!(reason), json!(0)],
    });
    Value::from(parts)
}

fn settled(receipt: &Receipt, settlement: &Settlement) -> Value {
    match settlement {
        Settlement::Done => json!([row(receipt), &*receipt.token, "done", null, null]),
        Settlement::Retry { at, error } => json!([row(receipt), &*receipt.token, "retry", at, error]),
        Settlement::Defer { until } => json!([row(receipt), &*receipt.token, "defer", until, null]),
        Settlement::Dead { reason } => json!([row(receipt), &*receipt.token, "dead", null, reason]),
    }
}

fn claimed(n: usize, request: &ClaimRequest) -> Value {
    json!({
        "n": n,
        "event_id": request.event_id,
        "handler": &*request.handler,
        "owner": request.owner,
        "lease_ms": u64::try_from(request.lease.as_millis()).unwrap_or(u64::MAX / 2),
        "max_attempts": request.max_attempts,
    })
}

/// What a group's statements returned, by part.
#[derive(Default)]
pub(super) struct Results {
    pub(super) changed: i64,
    pub(super) renewed: i64,
    /// Whether a row was settled before the mark of one of its handlers.
    pub(super) settled_early: bool,
    pub(super) enqueued: Vec<String>,
    pub(super) received: Option<String>,
    pub(super) claims: Option<String>,
}

impl Results {
    pub(super) fn read(rows: &[SqliteRow]) -> Result<Self, StoreError> {
        let mut results = Self::default();
        for row in rows {
            let failed = |e| store_error("read the result of a write", e);
            let text = || columns::text(row, "value").map(Option::unwrap_or_default);
            match row.try_get::<&str, _>(0).map_err(failed)? {
                "changed" => results.changed = row.try_get(1).map_err(failed)?,
                "renewed" => results.renewed = row.try_get(1).map_err(failed)?,
                "early" => results.settled_early |= row.try_get::<bool, _>(1).map_err(failed)?,
                "enqueued" => results.enqueued.push(text().map_err(failed)?),
                "received" => results.received = Some(text().map_err(failed)?),
                _ => results.claims = Some(text().map_err(failed)?),
            }
        }
        Ok(results)
    }
}

fn unreadable(what: &str, error: serde_json::Error) -> StoreError {
    StoreError::with_source(StoreErrorKind::Corrupt, format!("cannot read {what}"), error)
}

/// id, event_id, type, version, key, payload, headers, created_at
type EventColumns = (i64, String, String, Value, Option<String>, Option<String>, Option<String>, Option<i64>);
/// row, handler, started_at, attempts, lease_until
type ClaimColumns = (i64, String, i64, i64, i64);

#[derive(serde::Deserialize)]
struct ReceivedParts {
    events: Vec<EventColumns>,
    claims: Vec<ClaimColumns>,
    parked: u64,
}

/// Reads `receive_result.sql`.
pub(super) fn batch(text: &str, request: &ReceiveRequest) -> Result<Batch, StoreError> {
    let parts: ReceivedParts = serde_json::from_str(text).map_err(|e| unreadable("received events", e))?;
    let mut batch = Batch { received: Vec::new(), unreadable: Vec::new(), parked: parts.parked };
    let mut claims = HashMap::<i64, Vec<ClaimColumns>>::new();
    for claim in parts.claims {
        claims.entry(claim.0).or_default().push(claim);
    }
    for columns in parts.events {
        let receipt =
            Receipt { message: Arc::from(columns.0.to_string()), token: Arc::clone(&request.token) };
        let row = columns.0;
        let envelope = match envelope(columns) {
            Ok(envelope) => envelope,
            Err(reason) => {
                batch.unreadable.push((receipt, reason));
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
                lease_until: Timestamp::from_millis(until),
            },
        );
        let claims = request.subscriber.grants.then(|| own.collect());
        batch.received.push(Received { envelope: Arc::new(envelope), receipt, claims });
    }
    Ok(batch)
}

fn envelope(columns: EventColumns) -> Result<Envelope, String> {
    let (_, id, event_type, version, key, payload, headers, created_at) = columns;
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
        payload: payload.ok_or("payload is NULL")?,
        // A foreign writer's headers that are no map of strings are left out; the payload is what counts.
        headers: headers.and_then(|headers| serde_json::from_str(&headers).ok()).unwrap_or_default(),
        occurred_at: Timestamp::from_millis(created_at.unwrap_or(0)),
    })
}

/// n, granted, status, started_at, attempts, lease_until
type AnswerColumns = (usize, u8, String, i64, i64, Option<i64>);

/// Reads `claim_result.sql` and answers each claim.
pub(super) fn answer_claims(text: &str, claims: Vec<(ClaimRequest, Reply<Claim>)>) {
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
        let _ = reply.send(answers.remove(&n).ok_or_else(missing).map(|answer| claim(request, answer)));
    }
}

fn claim(
    request: ClaimRequest,
    (_, granted, status, started_at, attempts, lease_until): AnswerColumns,
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
            lease_until,
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
