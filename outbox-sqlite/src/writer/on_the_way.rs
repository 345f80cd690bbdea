//! Events between the database and the worker that has claimed them.

use std::sync::Arc;

use outbox_core::{Received, Release, Settlement, Timestamp};
use tokio::sync::oneshot;

use super::Writer;
use super::command::{Change, Command, ReceiveRequest, SettleItem};
use crate::subscriber::Subscriber;

/// Events that are claimed for a worker and have not reached it. Should it be gone by then, as when the future of its run
/// is dropped, they are given back: due at once, no attempt spent.
pub(crate) struct OnTheWay {
    received: Vec<Received>,
    due: Timestamp,
    subscriber: Arc<Subscriber>,
    writer: Writer,
}

impl OnTheWay {
    pub(super) fn new(received: Vec<Received>, request: &ReceiveRequest) -> Self {
        let (subscriber, writer) = (Arc::clone(&request.subscriber), request.writer.clone());
        Self { received, due: request.asked_at, subscriber, writer }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.received.is_empty()
    }

    /// They are the worker's to settle.
    pub(crate) fn arrive(mut self) -> Vec<Received> {
        std::mem::take(&mut self.received)
    }
}

impl Drop for OnTheWay {
    fn drop(&mut self) {
        let mut items = Vec::with_capacity(self.received.len());
        for Received { receipt, claims, .. } in self.received.drain(..) {
            for token in claims.into_iter().flatten() {
                let change = Change::Release(Release { due: self.due, error: None, refund: true });
                self.writer.send(Command::Change { token, change, reply: oneshot::channel().0 });
            }
            items.push(SettleItem { receipt, settlement: Settlement::Defer { until: self.due } });
        }
        if !items.is_empty() {
            let subscriber = Arc::clone(&self.subscriber);
            self.writer.send(Command::Settle { subscriber, items, reply: oneshot::channel().0 });
        }
    }
}
