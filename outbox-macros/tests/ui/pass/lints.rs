//! No lint of the author's falls on generated code.

#![forbid(unsafe_code)]
#![deny(warnings, missing_docs, unreachable_pub, unused_qualifications, unused_results, single_use_lifetimes)]
#![deny(elided_lifetimes_in_paths, let_underscore_drop, redundant_imports, unit_bindings, unnameable_types)]

use outbox::{Delivery, Event, State, event_handler};
use serde::{Deserialize, Serialize};

#[path = "../../support/tx.rs"]
mod support;
use support::TestTx;

/// A tick.
#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick", key = "at", version = 2, upcast = upcast)]
pub(crate) struct Tick {
    at: u64,
}

fn upcast(_: u32, payload: serde_json::Value) -> Result<serde_json::Value, outbox::UpcastError> {
    Ok(payload)
}

/// Ticks.
#[event_handler(name = "a", timeout = "1s", lease = "1m", max_attempts = 1, on_dead = "continue")]
pub(crate) async fn clock(_tick: Tick, _: Delivery, State(_count): State<u8>) -> Result<(), std::io::Error> {
    Ok(())
}

/// Writes down ticks.
#[event_handler(name = "b", idempotency(skip = "effect and mark commit together"))]
async fn index(tick: Tick, tx: &mut TestTx<'_>) -> Result<(), outbox::HandlerError> {
    let _ = (tick, tx);
    Ok(())
}

/// On its way out.
#[deprecated]
#[event_handler(name = "c")]
async fn old(tick: Tick) -> Result<(), outbox::HandlerError> {
    let _ = tick;
    Ok(())
}

fn main() {}
