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
const MOST: usize = 1_024;

/// What is executed together. Every field is one statement's worth of commands.
#[derive(Default)]
pub(super) struct Group {
    pub(super) receive: Option<(ReceiveRequest, Reply<Batch>)>,
    pub(super) claims: Vec<(ClaimRequest, Reply<Claim>)>,
    pub(super) changes: Vec<(ClaimToken, Change, LedgerReply)>,
    pub(super) renewals: Vec<(ClaimToken, Duration, LedgerReply)>,
    pub(super) settlements: Vec<(Arc<Subscriber>, Vec<SettleItem>, Reply<()>)>,
    pub(super) extensions: Vec<(Vec<Receipt>, Reply<()>)>,
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
            Command::Enqueue { events, reply } => self.enqueues.push((events, reply)),
            Command::Job { job, reply } => self.job = Some((job, reply)),
        }
        Ok(())
    }

    pub(super) fn is_full(&self) -> bool {
        self.size >= MOST || self.job.is_some()
    }

    fn clashes(&self, command: &Command) -> bool {
        let foreign =
            |subscriber: &Arc<Subscriber>| self.settling().is_some_and(|ours| !Arc::ptr_eq(ours, subscriber));
        match command {
            Command::Job { .. } => self.size > 0,
            Command::Receive { .. } => self.receive.is_some(),
            Command::Settle { subscriber, .. } => foreign(subscriber),
            other => other.pair().is_some_and(|pair| self.pairs.contains(&pair)),
        }
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

    /// Whether it may have made something available to a worker.
    pub(super) fn may_wake(&self) -> bool {
        !self.settlements.is_empty() || !self.enqueues.is_empty() || !self.changes.is_empty()
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
        let enqueues = self.enqueues.into_iter().map(|(events, reply)| Command::Enqueue { events, reply });
        let job = self.job.map(|(job, reply)| Command::Job { job, reply });
        renewals
            .chain(extensions)
            .chain(changes)
            .chain(settlements)
            .chain(enqueues)
            .chain(receive)
            .chain(claims)
            .chain(job)
    }
}
