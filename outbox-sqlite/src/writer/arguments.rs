//! What goes into the statements: one JSON value each.

use std::collections::BTreeMap;

use outbox_core::{ClaimRequest, ClaimToken, Envelope, EventId, ReadyEvent, Receipt, Settlement, Timestamp};
use serde::Serialize;
use uuid::Uuid;

use super::command::{Change, ReceiveRequest, SettleItem};
use super::group::Group;
use crate::subscriber::Subscriber;

/// The arguments `$1` to `$8` of a group's statements (`$9` is the time). What a group lacks is NULL.
pub(super) fn arguments(group: &Group, now: Timestamp) -> [Option<String>; 8] {
    let some = |is_empty: bool, value: &dyn Fn() -> String| (!is_empty).then(value);
    [
        some(group.enqueues.is_empty(), &|| enqueued(group.enqueues.iter().flat_map(|(events, _)| events))),
        group.receive.as_ref().map(|(request, _)| receive(request, now)),
        some(group.changes.is_empty(), &|| json(&changes(group, now))),
        some(group.renewals.is_empty(), &|| {
            array(group.renewals.iter().map(|(token, lease, _)| {
                let (event, handler, owner, started) = token_parts(token);
                (event, handler, owner, started, now.after(*lease))
            }))
        }),
        some(group.settlements.is_empty(), &|| json(&settlements(group))),
        group
            .settling()
            .or(group.receive.as_ref().map(|(request, _)| &request.subscriber))
            .map(|subscriber| {
                let Subscriber { owner, handlers, .. } = &**subscriber;
                format!(r#"{{"owner":"{owner}","handlers":{handlers},"anyone":0}}"#)
            })
            .or_else(|| Some(r#"{"handlers":[],"anyone":1}"#.to_owned())),
        some(group.extensions.is_empty() && group.progressed.is_empty(), &|| json(&InHand::of(group))),
        some(group.claims.is_empty(), &|| {
            array(group.claims.iter().enumerate().map(|(n, (request, _))| claimed(n, request)))
        }),
    ]
}

fn json(value: &impl Serialize) -> String {
    serde_json::to_string(value)
        .unwrap_or_else(|_| unreachable!("arrays and structs of plain values are JSON"))
}

fn array<T: Serialize>(items: impl Iterator<Item = T>) -> String {
    json(&items.collect::<Vec<_>>())
}

fn row(receipt: &Receipt) -> i64 {
    // A receipt of another bus names no row.
    receipt.message.parse().unwrap_or(-1)
}

/// Events for `enqueue_many.sql`.
pub(crate) fn enqueued<'a>(events: impl Iterator<Item = &'a ReadyEvent>) -> String {
    array(events.map(|event| {
        let envelope = &event.envelope;
        (
            envelope.id,
            &envelope.event_type,
            envelope.version,
            &envelope.key,
            &envelope.payload,
            headers(envelope),
            event.available_at,
            envelope.occurred_at,
        )
    }))
}

/// Headers as the column holds them.
pub(crate) fn headers(envelope: &Envelope) -> String {
    json(&envelope.headers)
}

fn receive(request: &ReceiveRequest, now: Timestamp) -> String {
    format!(
        r#"{{"owner":"{}","token":"{}","max":{},"window":{},"expired_before":{},"types":{},"handlers":{}}}"#,
        request.subscriber.owner,
        request.token,
        request.max,
        request.window,
        now.before(request.queue_lease).as_millis(),
        request.types,
        request.subscriber.handlers,
    )
}

type TokenParts<'a> = (EventId, &'a str, Uuid, Timestamp);

fn token_parts(token: &ClaimToken) -> TokenParts<'_> {
    (token.event_id, &token.handler, token.owner, token.started_at)
}

/// Tokens for `held.sql`.
pub(super) fn tokens<'a>(tokens: impl Iterator<Item = &'a ClaimToken>) -> String {
    array(tokens.map(token_parts))
}

/// For `change_done.sql` and `change.sql`.
#[derive(Serialize)]
struct Changes<'a> {
    done: Vec<DoneClaims<'a>>,
    other: Vec<OtherChange<'a>>,
}

/// Claims that are done and share their token but for the event.
#[derive(Serialize)]
struct DoneClaims<'a> {
    handler: &'a str,
    owner: Uuid,
    started_at: Timestamp,
    ids: Vec<EventId>,
}

/// event_id, handler, owner, started_at, status, processed_at, lease_until, error, refund
type OtherChange<'a> = (
    EventId,
    &'a str,
    Uuid,
    Timestamp,
    &'static str,
    Option<Timestamp>,
    Option<Timestamp>,
    Option<&'a str>,
    u8,
);

fn changes(group: &Group, now: Timestamp) -> Changes<'_> {
    let mut done = BTreeMap::<_, Vec<EventId>>::new();
    let mut other = Vec::new();
    for (token, change, _) in &group.changes {
        let (event, handler, owner, started) = token_parts(token);
        let status = change.status();
        match change {
            Change::Done => done.entry((handler, owner, started)).or_default().push(event),
            Change::Release(release) => {
                let (due, error) = (Some(release.due), release.error.as_deref());
                let refund = u8::from(release.refund);
                other.push((event, handler, owner, started, status, None, due, error, refund));
            }
            Change::Bury(reason) => {
                other.push((event, handler, owner, started, status, Some(now), None, Some(&**reason), 0));
            }
        }
    }
    let done = done
        .into_iter()
        .map(|((handler, owner, started_at), ids)| DoneClaims { handler, owner, started_at, ids })
        .collect();
    Changes { done, other }
}

/// For the statements `settle_….sql`.
#[derive(Serialize)]
struct Settlements<'a> {
    claims: Vec<ClaimedRows<'a>>,
    items: Vec<Item<'a>>,
}

/// Rows that were received together.
#[derive(Serialize)]
struct ClaimedRows<'a> {
    token: &'a str,
    rows: Vec<i64>,
}

/// row, token, kind, at, error
type Item<'a> = (i64, &'a str, &'static str, Option<Timestamp>, Option<&'a str>);

fn settlements(group: &Group) -> Settlements<'_> {
    let mut claims = BTreeMap::<&str, Vec<i64>>::new();
    let mut items = Vec::new();
    // Where the ledger is of this database it tells what becomes of a row, unless the row is given up as a whole.
    let by_ledger = group.settling().is_some_and(|subscriber| subscriber.grants);
    for SettleItem { receipt, settlement } in group.settlements.iter().flat_map(|(_, items, _)| items) {
        claims.entry(&receipt.token).or_default().push(row(receipt));
        if !by_ledger || matches!(settlement, Settlement::Dead { .. }) {
            items.push(item(receipt, settlement));
        }
    }
    let claims = claims.into_iter().map(|(token, rows)| ClaimedRows { token, rows }).collect();
    Settlements { claims, items }
}

fn item<'a>(receipt: &'a Receipt, settlement: &'a Settlement) -> Item<'a> {
    let (kind, at, error) = match settlement {
        Settlement::Done => ("done", None, None),
        Settlement::Retry { at, error } => ("retry", Some(*at), Some(&**error)),
        Settlement::Defer { until } => ("defer", Some(*until), None),
        Settlement::Dead { reason } => ("dead", None, Some(&**reason)),
    };
    (row(receipt), &receipt.token, kind, at, error)
}

/// Rows in hand, for `extend.sql` and `progress_touched.sql`.
#[derive(Serialize)]
struct InHand<'a> {
    extended: Vec<(i64, &'a str)>,
    progressed: Vec<(i64, &'a str)>,
}

impl<'a> InHand<'a> {
    fn of(group: &'a Group) -> Self {
        let of = |receipt: &'a Receipt| (row(receipt), &*receipt.token);
        Self {
            extended: group.extensions.iter().flat_map(|(receipts, _)| receipts).map(of).collect(),
            progressed: group.progressed.iter().map(|(receipt, _)| receipt).map(of).collect(),
        }
    }
}

/// For `claim_pairs.sql` and `claim_result.sql`.
#[derive(Serialize)]
struct ClaimItem<'a> {
    n: usize,
    event_id: EventId,
    handler: &'a str,
    owner: Uuid,
    lease_ms: u64,
    max_attempts: u32,
}

fn claimed(n: usize, request: &ClaimRequest) -> ClaimItem<'_> {
    ClaimItem {
        n,
        event_id: request.event_id,
        handler: &request.handler,
        owner: request.owner,
        lease_ms: u64::try_from(request.lease.as_millis()).unwrap_or(u64::MAX / 2),
        max_attempts: request.max_attempts,
    }
}
