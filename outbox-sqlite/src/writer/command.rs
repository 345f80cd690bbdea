//! What the writer can be asked for.

use std::sync::Arc;
use std::time::Duration;

use outbox_core::{
    Claim, ClaimRequest, ClaimToken, Enqueued, LedgerError, ReadyEvent, Receipt, Release, Settlement,
    StoreError, Timestamp,
};
use tokio::sync::oneshot;
use uuid::Uuid;

use super::on_the_way::OnTheWay;
use super::{Job, Writer};
use crate::subscriber::Subscriber;

pub(crate) type Reply<T> = oneshot::Sender<Result<T, StoreError>>;
pub(crate) type LedgerReply = oneshot::Sender<Result<(), LedgerError>>;

/// One write, with where its answer goes.
pub(crate) enum Command {
    Receive { request: ReceiveRequest, reply: Reply<Batch> },
    Claim { request: ClaimRequest, reply: Reply<Claim> },
    Change { token: ClaimToken, change: Change, reply: LedgerReply },
    Renew { token: ClaimToken, lease: Duration, reply: LedgerReply },
    Settle { subscriber: Arc<Subscriber>, items: Vec<SettleItem>, reply: Reply<()> },
    Extend { receipts: Vec<Receipt>, reply: Reply<()> },
    Progress { receipt: Receipt, reply: Reply<()> },
    Enqueue { events: Vec<ReadyEvent>, reply: Reply<Vec<Enqueued>> },
    Job { job: Job, reply: Reply<()> },
}

/// What a claim of rows brought.
pub(crate) struct Batch {
    pub(crate) received: OnTheWay,
    /// Rows whose columns no envelope can hold, with the reason.
    pub(crate) unreadable: Vec<(Receipt, String)>,
    /// How many rows were looked at in vain and put back.
    pub(crate) parked: u64,
}

/// A claim of rows for a worker.
pub(crate) struct ReceiveRequest {
    pub(crate) subscriber: Arc<Subscriber>,
    /// The types to look for: `[{type, max_version}]`.
    pub(crate) types: String,
    /// Guards the rows: unique per claim.
    pub(crate) token: Arc<str>,
    /// For how long rows stay a worker's without an extension.
    pub(crate) queue_lease: Duration,
    /// Most handler runs.
    pub(crate) max: usize,
    /// Most rows to look at.
    pub(crate) window: usize,
    pub(crate) asked_at: Timestamp,
    /// Where they are given back if nobody takes them.
    pub(crate) writer: Writer,
}

/// A change of a claim.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    Done,
    Release(Release),
    Bury(String),
}

impl Change {
    /// The state that the claim is in afterwards.
    pub(crate) fn status(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Release(_) => "released",
            Self::Bury(_) => "dead",
        }
    }
}

/// What became of a row.
pub(crate) struct SettleItem {
    pub(crate) receipt: Receipt,
    pub(crate) settlement: Settlement,
}

impl Command {
    /// Tells the sender that it failed.
    pub(crate) fn fail(self, failure: &StoreError) {
        // A sender that is gone needs no answer.
        match self {
            Self::Receive { reply, .. } => drop(reply.send(Err(failure.clone()))),
            Self::Claim { reply, .. } => drop(reply.send(Err(failure.clone()))),
            Self::Change { reply, .. } | Self::Renew { reply, .. } => {
                drop(reply.send(Err(failure.clone().into())));
            }
            Self::Settle { reply, .. }
            | Self::Extend { reply, .. }
            | Self::Progress { reply, .. }
            | Self::Job { reply, .. } => {
                drop(reply.send(Err(failure.clone())));
            }
            Self::Enqueue { reply, .. } => drop(reply.send(Err(failure.clone()))),
        }
    }

    /// The pair whose claim it changes. Two such commands do not fit in one group, since each expects to see the
    /// other's effect.
    pub(crate) fn pair(&self) -> Option<(Uuid, Arc<str>)> {
        match self {
            Self::Claim { request, .. } => Some((request.event_id.into(), Arc::clone(&request.handler))),
            Self::Change { token, .. } | Self::Renew { token, .. } => {
                Some((token.event_id.into(), Arc::clone(&token.handler)))
            }
            _ => None,
        }
    }
}
