//! The writer: one thread on which all writes of a store are put together into few transactions (group commit).
//!
//! It has a thread and runtime of its own, so that neither a handler that blocks the application's threads nor a busy
//! runtime keeps leases from being renewed.

pub(crate) mod arguments;
mod command;
mod execute;
mod group;
mod log;
mod on_the_way;
mod results;
mod statements;

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use outbox_core::{SharedClock, StoreError, StoreErrorKind};
use sqlx::sqlite::SqliteConnection;
use tokio::sync::{mpsc, oneshot};

pub(crate) use self::command::{Batch, Change, Command, ReceiveRequest, SettleItem};
use self::execute::Context;
use self::group::Group;
use self::log::Log;
use crate::file::DatabaseFile;
use crate::gate::Gate;
use crate::wake::WakeHub;

/// Commands that may wait before their senders do.
const QUEUE: usize = 4_096;

/// Commands that make a group a part of a burst.
const BURST: usize = 16;
/// How long to look on whether more of a burst comes in.
const GLANCE: Duration = Duration::from_micros(20);
/// Bounds how long a burst is waited for: about 1 ms with what a sleep takes beyond its time.
const MOST_GLANCES: u32 = 12;

/// A handle of the writer. The thread ends when the last handle is dropped.
#[derive(Clone)]
pub(crate) struct Writer {
    commands: mpsc::Sender<Command>,
}

/// A piece of work with the write connection, within a transaction of its own.
pub(crate) type Job = Box<
    dyn for<'c> FnOnce(
            &'c mut SqliteConnection,
        ) -> Pin<Box<dyn Future<Output = Result<(), StoreError>> + Send + 'c>>
        + Send,
>;

impl Writer {
    /// Starts the thread.
    pub(crate) fn start(
        gate: Gate,
        file: Arc<DatabaseFile>,
        clock: SharedClock,
        wake: WakeHub,
    ) -> Result<Self, StoreError> {
        let (commands, receiver) = mpsc::channel(QUEUE);
        let failed =
            |e| StoreError::with_source(StoreErrorKind::Unavailable, "the writer's thread cannot start", e);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        std::thread::Builder::new()
            .name("outbox-writer".to_owned())
            .spawn(move || {
                let context = Context { clock, wake, marks_may_come_late: false };
                let log = Log::new(file);
                let writer = Loop { gate, context, log, carried: VecDeque::new(), last_size: 0 };
                runtime.block_on(writer.run(receiver));
            })
            .map_err(failed)?;
        Ok(Self { commands })
    }

    /// Sends a command and waits for its answer.
    pub(crate) async fn ask<T, E: From<StoreError>>(
        &self,
        command: impl FnOnce(oneshot::Sender<Result<T, E>>) -> Command,
    ) -> Result<T, E> {
        let gone = || E::from(StoreError::new(StoreErrorKind::Unavailable, "the store's writer has ended"));
        let (reply, answer) = oneshot::channel();
        self.commands.send(command(reply)).await.map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?
    }

    /// Sends a command whose answer nobody needs, unless the queue is full.
    fn send(&self, command: Command) {
        let _ = self.commands.try_send(command);
    }

    /// Runs `job` on the writer's thread, in a transaction of its own, and returns what it makes.
    pub(crate) async fn transaction<T, F>(&self, job: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: for<'c> FnOnce(
                &'c mut SqliteConnection,
            ) -> Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'c>>
            + Send
            + 'static,
    {
        let (send, receive) = oneshot::channel();
        self.ask(|reply| {
            let job: Job = Box::new(move |connection| {
                Box::pin(async move {
                    let made = job(connection).await?;
                    // The caller may have gone; the work is done all the same.
                    let _ = send.send(made);
                    Ok(())
                })
            });
            Command::Job { job, reply }
        })
        .await?;
        receive.await.map_err(|_| StoreError::new(StoreErrorKind::Other, "the transaction gave no result"))
    }
}

struct Loop {
    gate: Gate,
    context: Context,
    log: Log,
    /// Commands that did not fit the group at hand.
    carried: VecDeque<Command>,
    /// How many commands the last group held.
    last_size: usize,
}

impl Loop {
    async fn run(mut self, mut commands: mpsc::Receiver<Command>) {
        loop {
            let first = match self.carried.pop_front() {
                Some(command) => command,
                None => match commands.recv().await {
                    Some(command) => command,
                    None => return,
                },
            };
            self.let_a_burst_come_in(&commands);
            // Whatever is sent while we wait for our turn fits in the same transaction.
            let pass = self.gate.pass().await;
            let group = self.gather(first, &mut commands);
            self.last_size = group.size;
            match pass {
                Ok(mut pass) => {
                    group.execute(&mut pass, &mut self.context).await;
                    if self.last_size == 1 && commands.is_empty() {
                        self.log.shorten(&mut pass).await;
                    }
                }
                Err(failure) => group.fail(&failure),
            }
        }
    }

    /// Where many commands came together, many will again: those whom the last group answered go on and send the next ones
    /// within microseconds of each other. To begin with the first of them would make two transactions of one.
    fn let_a_burst_come_in(&self, commands: &mpsc::Receiver<Command>) {
        if self.last_size < BURST {
            return;
        }
        let mut waiting = commands.len();
        for _ in 0..MOST_GLANCES {
            // The thread is the writer's own, and a timer of the runtime is too coarse.
            std::thread::sleep(GLANCE);
            let now = commands.len();
            if now == waiting || now >= group::MOST {
                return;
            }
            waiting = now;
        }
    }

    /// Puts together what is waiting.
    fn gather(&mut self, first: Command, commands: &mut mpsc::Receiver<Command>) -> Group {
        let mut group = Group::default();
        let mut left = VecDeque::new();
        let carried = std::mem::take(&mut self.carried);
        let mut next = Some(first);
        let mut carried = carried.into_iter();
        while let Some(command) = next {
            if let Err(command) = group.add(command) {
                left.push_back(command);
            }
            if group.is_full() {
                break;
            }
            next = carried.next().or_else(|| commands.try_recv().ok());
        }
        left.extend(carried);
        self.carried = left;
        group
    }
}
