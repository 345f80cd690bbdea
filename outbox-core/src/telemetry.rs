//! Names of spans, events and metrics. They are API: a change of one is a breaking change.
//!
//! # Spans (crate `tracing`)
//!
//! | span | fields | around |
//! |---|---|---|
//! | `outbox.handle` | `handler`, `event_id`, `event_type` | one run of a handler, from claim to ledger mark |
//!
//! # Events (crate `tracing`)
//!
//! | name | level | when |
//! |---|---|---|
//! | `outbox.worker.started`, `outbox.worker.stopped` | info | a worker starts, has ended |
//! | `outbox.worker.no_handlers` | warn | a worker starts without any handler, perhaps since the linker left out their crate |
//! | `outbox.handler.failed` | warn | a run failed and will be retried |
//! | `outbox.handler.dead` | error | a handler gave up: dead letter |
//! | `outbox.lease.lost` | warn | a run was overtaken and wrote nothing |
//! | `outbox.heartbeat.failing` | warn | leases cannot be renewed; nothing is fetched |
//! | `outbox.store.failing`, `outbox.store.recovered` | error, info | once per kind of failure, and when it is over |
//! | `outbox.unhandled` | warn | once per type that waits and nobody handles |
//! | `outbox.waiting` | warn | rows wait for a handler of another binary |
//! | `outbox.unreadable` | warn | a row of a foreign writer cannot be read: dead letter |
//! | `outbox.transaction.ended` | warn | a handler ended its transaction by SQL; nothing of it is kept |
//! | `outbox.settings.unknown` | warn | `App::from_env` found variables that begin as settings do and are none |
//! | `outbox.wake.degraded` | warn | once: the database's files cannot be watched; commits of others are found by polling |
//!
//! # Metrics (facade `metrics`; install the recorder before the worker is built)
//!
//! | metric | kind | labels |
//! |---|---|---|
//! | `outbox_handled_total` | counter | `handler` |
//! | `outbox_failed_total` | counter | `handler` |
//! | `outbox_deferred_total` | counter | `handler` |
//! | `outbox_dead_total` | counter | `handler` |
//! | `outbox_duplicates_prevented_total` | counter | `handler` |
//! | `outbox_leases_lost_total` | counter | `handler` |
//! | `outbox_handler_seconds` | histogram | `handler` |
//! | `outbox_claim_seconds` | histogram | |
//! | `outbox_received_total` | counter | |
//! | `outbox_backlog` | gauge: events that are due and in nobody's hands | |
//! | `outbox_lag_seconds` | gauge: for how long the oldest of them has been due | |

use metrics::{Counter, Gauge, Histogram, counter, gauge, histogram};
use tracing::Span;

use crate::Envelope;

/// Metrics of one handler, looked up once.
pub(crate) struct HandlerMetrics {
    pub(crate) handled: Counter,
    pub(crate) failed: Counter,
    pub(crate) deferred: Counter,
    pub(crate) dead: Counter,
    pub(crate) duplicates_prevented: Counter,
    pub(crate) leases_lost: Counter,
    pub(crate) handler_seconds: Histogram,
}

impl HandlerMetrics {
    pub(crate) fn new(handler: &str) -> Self {
        let handler = handler.to_owned();
        Self {
            handled: counter!("outbox_handled_total", "handler" => handler.clone()),
            failed: counter!("outbox_failed_total", "handler" => handler.clone()),
            deferred: counter!("outbox_deferred_total", "handler" => handler.clone()),
            dead: counter!("outbox_dead_total", "handler" => handler.clone()),
            duplicates_prevented: counter!("outbox_duplicates_prevented_total", "handler" => handler.clone()),
            leases_lost: counter!("outbox_leases_lost_total", "handler" => handler.clone()),
            handler_seconds: histogram!("outbox_handler_seconds", "handler" => handler),
        }
    }
}

/// Metrics of one worker.
pub(crate) struct WorkerMetrics {
    pub(crate) received: Counter,
    pub(crate) claim_seconds: Histogram,
    pub(crate) backlog: Gauge,
    pub(crate) lag_seconds: Gauge,
}

impl WorkerMetrics {
    pub(crate) fn new() -> Self {
        Self {
            received: counter!("outbox_received_total"),
            claim_seconds: histogram!("outbox_claim_seconds"),
            backlog: gauge!("outbox_backlog"),
            lag_seconds: gauge!("outbox_lag_seconds"),
        }
    }
}

/// The span around one run of a handler.
pub(crate) fn handle_span(handler: &str, envelope: &Envelope) -> Span {
    tracing::info_span!("outbox.handle", handler, event_id = %envelope.id, event_type = %envelope.event_type)
}
