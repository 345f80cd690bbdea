//! The core of `outbox`: what an event, a handler, a bus and a ledger are, and the worker that brings them together.
//!
//! No SQL and no sockets here; see the crates `outbox-sqlite` and others for those, and the facade `outbox` for
//! everything in one place.
//!
//! * What is published: [`Event`], [`NewEvent`], [`Enqueue`], [`EventId`].
//! * What handles it: `#[event_handler]`, [`Handler`], [`State`], [`Delivery`], [`HandlerError`], [`RuntimeHandler`].
//! * What runs it: [`Worker`], [`WorkerSettings`], [`Health`].
//! * What carries and remembers: [`Bus`], [`Publisher`], [`Ledger`], with [`MemoryOutbox`] as the one without a
//!   database.
//! * What holds implementations to the contract: [`testing`].

// So that the macros' paths `::outbox_core::…` mean this crate in its own tests, too.
#[allow(unused_extern_crates, reason = "only generated code names it")]
extern crate self as outbox_core;

mod admin;
mod any_handler;
mod backoff;
mod bus;
mod clock;
mod delivery;
mod enqueue;
mod envelope;
mod error;
mod event;
mod explanation;
mod extract;
mod handler;
mod id;
mod ledger;
pub mod limits;
mod memory;
mod new_event;
mod pattern;
mod registry;
mod result;
mod run;
mod runtime_handler;
mod shared;
mod states;
pub mod telemetry;
pub mod testing;
mod transaction;
mod waiting;
mod worker;

pub use async_trait::async_trait;
pub use outbox_macros::{Event, event_handler};
pub use tokio_util::sync::CancellationToken;

pub use admin::*;
pub use backoff::Backoff;
pub use bus::{
    Bus, OnDead, PublishError, Publisher, Receipt, Received, Retention, Settlement, StoreId,
    SubscribedHandler, Subscription, Unhandled, Upkeep, UpkeepReport,
};
pub use clock::{Clock, ManualClock, SharedClock, SystemClock, Timestamp};
pub use delivery::Delivery;
pub use enqueue::{Enqueue, EnqueueError, Enqueued, enqueue_events};
pub use envelope::{Envelope, Headers};
pub use error::{BoxError, StoreError, StoreErrorKind, chain};
pub use event::{Event, EventKey, UpcastError};
pub use explanation::{EventEnd, Explanation, HandlerProgress, TimelineEntry, timeline};
pub use extract::{FromDelivery, Need, State, StateMap};
pub use handler::{Handler, IdempotencyCheck, Location, RunFuture, RunResult, Terms};
pub use id::{EventId, ParseEventIdError};
pub use ledger::{Claim, ClaimRequest, ClaimToken, Ledger, LedgerError, Release};
pub use limits::InvalidEvent;
pub use memory::{MemoryAdmin, MemoryBus, MemoryLedger, MemoryOutbox};
pub use new_event::{NewEvent, ReadyEvent};
pub use pattern::matches_pattern;
pub use registry::{Registration, Registry};
pub use result::{FailureKind, HandlerError, HandlerFailure, IntoHandlerResult};
pub use run::{ActiveClaim, HandlerRun, RunEnd};
pub use runtime_handler::RuntimeHandler;
pub use states::{ClaimState, EventState};
pub use transaction::{HandlerTransaction, TransactionType, Transactions};
pub use waiting::{OVERDUE, WaitReason, Waiting};
pub use worker::{
    BuildError, Health, InvalidSetting, Worker, WorkerBuilder, WorkerError, WorkerSettings, seconds,
    whole_number,
};

/// What generated code names. Not for use by hand.
#[doc(hidden)]
pub mod __private {
    pub use crate::handler::invalid_handler;
    pub use {inventory, serde_json};
}
