//! Commands that are executed together, in one transaction and one call to the database.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use outbox_core::{Claim, ClaimRequest, ClaimToken, Enqueued, ReadyEvent, Receipt, Settlement, StoreError};
use uuid::Uuid;

use super::Job;
use super::command::{Batch, Change, Command, LedgerReply, ReceiveRequest, Reply, SettleItem};
use crate::subscriber::Subscriber;

/// Most commands in one transaction: bounds how long it holds the lock.
pub(super) const MOST: usize = 1_024;

/// What is executed together. Every field is one statement's worth of commands.
#[derive(Default)]
pub(super) struct Group {
    pub(super) receive: Option<(ReceiveRequest, Reply<Batch>)>,
    pub(super) claims: Vec<(ClaimRequest, Reply<Claim>)>,
    pub(super) changes: Vec<(ClaimToken, Change, LedgerReply)>,
    pub(super) renewals: Vec<(ClaimToken, Duration, LedgerReply)>,
    pub(super) settlements: Vec<(Arc<Subscriber>, Vec<SettleItem>, Reply<()>)>,
    pub(super) extensions: Vec<(Vec<Receipt>, Reply<()>)>,
    /// Events in hand with which one of several handlers has finished.
    pub(super) progressed: Vec<(Receipt, Reply<()>)>,
    pub(super) enqueues: Vec<(Vec<ReadyEvent>, Reply<Vec<Enqueued>>)>,
    pub(super) job: Option<(Job, Reply<()>)>,
    pairs: HashSet<(Uuid, Arc<str>)>,
    pub(super) size: usize,
}

impl Group {
    /// Takes the command, or gives it back if it does not fit with what is there.
    pub(super) fn add(&mut self, command: Command) -> Result<(), Command> {
        if self.job.is_some() || self.clashes(&command) {
            return Err(command);
        }
        self.pairs.extend(command.pair());
        self.size += 1;
        match command {
            Command::Receive { request, reply } => self.receive = Some((request, reply)),
            Command::Claim { request, reply } => self.claims.push((request, reply)),
            Command::Change { token, change, reply } => self.changes.push((token, change, reply)),
            Command::Renew { token, lease, reply } => self.renewals.push((token, lease, reply)),
            Command::Settle { subscriber, items, reply } => self.settlements.push((subscriber, items, reply)),
            Command::Extend { receipts, reply } => self.extensions.push((receipts, reply)),
            Command::Progress { receipt, reply } => self.progressed.push((receipt, reply)),
            Command::Enqueue { events, reply } => self.enqueues.push((events, reply)),
            Command::Job { job, reply } => self.job = Some((job, reply)),
        }
        Ok(())
    }

    pub(super) fn is_full(&self) -> bool {
        self.size >= MOST || self.job.is_some()
    }

    fn clashes(&self, command: &Command) -> bool {
        match command {
            Command::Job { .. } => self.size > 0,
            Command::Receive { request, .. } => {
                self.receive.is_some() || self.is_foreign(&request.subscriber)
            }
            Command::Settle { subscriber, .. } => self.is_foreign(subscriber),
            other => other.pair().is_some_and(|pair| self.pairs.contains(&pair)),
        }
    }

    /// Whether rows of another worker are settled or claimed here. What is put back, and where, depends on whose
    /// handlers have looked at it, so a group works for one worker.
    fn is_foreign(&self, subscriber: &Arc<Subscriber>) -> bool {
        let claiming = self.receive.as_ref().map(|(request, _)| &request.subscriber);
        self.settling().into_iter().chain(claiming).any(|ours| !Arc::ptr_eq(ours, subscriber))
    }

    /// The worker whose rows are settled: all of one worker, since what is "ours" depends on it.
    pub(super) fn settling(&self) -> Option<&Arc<Subscriber>> {
        self.settlements.first().map(|(subscriber, ..)| subscriber)
    }

    /// Whether an event is dead-lettered as a whole.
    pub(super) fn gives_up(&self) -> bool {
        let items = self.settlements.iter().flat_map(|(_, items, _)| items);
        items.into_iter().any(|item| matches!(item.settlement, Settlement::Dead { .. }))
    }

    /// Whether claims are marked as done, and whether any are changed otherwise.
    pub(super) fn kinds_of_changes(&self) -> (bool, bool) {
        let done = self.changes.iter().filter(|(_, change, _)| matches!(change, Change::Done)).count();
        (done > 0, done < self.changes.len())
    }

    /// Whether it holds nothing but claims and their renewals.
    pub(super) fn only_claims(&self) -> bool {
        self.changes.is_empty()
            && self.settlements.is_empty()
            && self.enqueues.is_empty()
            && self.job.is_none()
    }

    /// Whether claims are granted.
    pub(super) fn grants(&self) -> bool {
        !self.claims.is_empty() || self.receive.as_ref().is_some_and(|(request, _)| request.subscriber.grants)
    }

    /// A group of one.
    pub(super) fn of(command: Command) -> Self {
        let mut group = Self::default();
        // An empty group takes anything.
        let _ = group.add(command);
        group
    }

    /// Tells every sender of the failure.
    pub(super) fn fail(self, failure: &StoreError) {
        self.into_commands().for_each(|command| command.fail(failure));
    }

    /// The commands it holds, in the order of their statements.
    pub(super) fn into_commands(self) -> impl Iterator<Item = Command> {
        let receive = self.receive.map(|(request, reply)| Command::Receive { request, reply });
        let claims = self.claims.into_iter().map(|(request, reply)| Command::Claim { request, reply });
        let changes =
            self.changes.into_iter().map(|(token, change, reply)| Command::Change { token, change, reply });
        let renewals =
            self.renewals.into_iter().map(|(token, lease, reply)| Command::Renew { token, lease, reply });
        let settlements = self.settlements.into_iter().map(|(subscriber, items, reply)| Command::Settle {
            subscriber,
            items,
            reply,
        });
        let extensions =
            self.extensions.into_iter().map(|(receipts, reply)| Command::Extend { receipts, reply });
        let progressed =
            self.progressed.into_iter().map(|(receipt, reply)| Command::Progress { receipt, reply });
        let enqueues = self.enqueues.into_iter().map(|(events, reply)| Command::Enqueue { events, reply });
        let job = self.job.map(|(job, reply)| Command::Job { job, reply });
        renewals
            .chain(extensions)
            .chain(changes)
            .chain(settlements)
            .chain(progressed)
            .chain(enqueues)
            .chain(receive)
            .chain(claims)
            .chain(job)
    }
}

#[cfg(test)]
mod tests {
    use outbox_core::{OnDead, SubscribedHandler, Subscription, Timestamp};
    use tokio::sync::{mpsc, oneshot};

    use super::super::Writer;
    use super::*;

    /// A row that one worker looks at in vain would be put away as if the other had done so, and would never be found again.
    #[test]
    fn what_two_workers_receive_and_settle_is_never_put_together() {
        let (one, other) = (worker(), worker());
        for (first, second) in [(receive(&one), settle(&other)), (settle(&one), receive(&other))] {
            let mut group = Group::of(first);
            assert!(group.add(second).is_err());
        }
        let mut group = Group::of(settle(&one));
        assert!(group.add(receive(&one)).is_ok());
    }

    fn worker() -> Arc<Subscriber> {
        let handler = SubscribedHandler {
            name: Arc::from("h"),
            event_type: Arc::from("t"),
            max_version: 1,
            max_attempts: 1,
            lease: Duration::from_secs(1),
            on_dead: OnDead::Continue,
        };
        let subscription =
            Subscription { owner: Uuid::new_v4(), handlers: vec![handler], grant_claims: true };
        Arc::new(Subscriber::new(&subscription))
    }

    fn receive(worker: &Arc<Subscriber>) -> Command {
        let request = ReceiveRequest {
            subscriber: Arc::clone(worker),
            types: "[]".to_owned(),
            token: Arc::from("t"),
            queue_lease: Duration::from_secs(1),
            max: 1,
            window: 1,
            asked_at: Timestamp::from_millis(0),
            writer: Writer { commands: mpsc::channel(1).0 },
        };
        Command::Receive { request, reply: oneshot::channel().0 }
    }

    fn settle(worker: &Arc<Subscriber>) -> Command {
        Command::Settle { subscriber: Arc::clone(worker), items: Vec::new(), reply: oneshot::channel().0 }
    }
}
