//! Who holds a transaction, so that nobody waits for himself.

use std::thread::{self, ThreadId};

/// The holder of a transaction that lasts longer than one call of this crate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Holder {
    purpose: Purpose,
    caller: Caller,
}

/// What a transaction is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// A handler's effect.
    Handler,
    /// What the application writes by itself.
    Application,
}

/// What does one thing after the other: a task or, outside of all tasks, as in a `main` function, a thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Caller {
    Task(tokio::task::Id),
    Thread(ThreadId),
}

impl Holder {
    /// The calling task.
    pub(crate) fn this_task(purpose: Purpose) -> Self {
        Self { purpose, caller: Caller::this() }
    }

    /// What the transaction is for, if the calling task holds it.
    pub(crate) fn purpose_of_this_task(self) -> Option<Purpose> {
        (self.caller == Caller::this()).then_some(self.purpose)
    }
}

impl Caller {
    fn this() -> Self {
        tokio::task::try_id().map_or_else(|| Self::Thread(thread::current().id()), Self::Task)
    }
}
