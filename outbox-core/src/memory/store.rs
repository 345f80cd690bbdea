//! The three tables under one lock, and the wake-ups of the buses that read them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::Notify;

use super::claims::Claims;
use super::row::Row;
use crate::{Envelope, EventId, OnDead, SharedClock, StoreId, SystemClock, Timestamp, matches_pattern};

/// What every handle of one store shares.
#[derive(Debug)]
pub(super) struct Store {
    pub(super) id: StoreId,
    tables: Mutex<Tables>,
    listeners: Mutex<Vec<Weak<Notify>>>,
}

/// The tables. Rows are in the order in which they were written.
#[derive(Debug)]
pub(super) struct Tables {
    pub(super) clock: SharedClock,
    /// How long a row stays in a worker's hands unless it is extended.
    pub(super) lease: Duration,
    pub(super) queue: BTreeMap<u64, Row>,
    pub(super) claims: Claims,
    /// The table `outbox_handlers`: by (event type or pattern, handler).
    pub(super) listed: BTreeMap<(Arc<str>, Arc<str>), Seen>,
    next_row: u64,
}

/// When a worker listed a handler, and what it knew.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    pub(super) first: Timestamp,
    pub(super) last: Timestamp,
    /// The highest version of the event that any of its workers knew.
    pub(super) max_version: u32,
    /// What the last of its workers wants its dead letters to mean.
    pub(super) on_dead: OnDead,
}

impl Store {
    pub(super) fn new() -> Arc<Self> {
        let tables = Tables {
            clock: Arc::new(SystemClock),
            lease: Duration::from_secs(60),
            queue: BTreeMap::new(),
            claims: Claims::default(),
            listed: BTreeMap::new(),
            next_row: 1,
        };
        Arc::new(Self { id: StoreId::new(), tables: Mutex::new(tables), listeners: Mutex::default() })
    }

    /// Looks at the tables, or changes what gives nobody anything to do.
    pub(super) fn tables(&self) -> MutexGuard<'_, Tables> {
        self.tables.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes the tables and wakes every bus, since there may be something to receive.
    pub(super) fn change<T>(&self, change: impl FnOnce(&mut Tables, Timestamp) -> T) -> T {
        let mut tables = self.tables();
        let now = tables.clock.now();
        let result = change(&mut tables, now);
        drop(tables);
        self.wake();
        result
    }

    /// A signal of its own for a bus. A wake-up that comes while nobody waits is kept.
    pub(super) fn listen(&self) -> Arc<Notify> {
        let notify = Arc::new(Notify::new());
        self.listeners().push(Arc::downgrade(&notify));
        notify
    }

    fn wake(&self) {
        self.listeners().retain(|listener| match listener.upgrade() {
            Some(notify) => {
                notify.notify_one();
                true
            }
            None => false,
        });
    }

    fn listeners(&self) -> MutexGuard<'_, Vec<Weak<Notify>>> {
        self.listeners.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Tables {
    pub(super) fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Appends an event; false if one with its id is there already, and then nothing changes.
    pub(super) fn insert(&mut self, event_id: Option<EventId>, envelope: Envelope, due: Timestamp) -> bool {
        if event_id.is_some_and(|id| self.row_of(id).is_some()) {
            return false;
        }
        self.queue.insert(self.next_row, Row::new(event_id, envelope, due));
        self.next_row += 1;
        true
    }

    /// The number of the row that holds an event.
    pub(super) fn row_of(&self, event_id: EventId) -> Option<u64> {
        self.queue.iter().find(|(_, row)| row.event_id == Some(event_id)).map(|(number, _)| *number)
    }

    /// The handlers that events of a type wait for, each once.
    pub(super) fn listed_for(&self, event_type: &str) -> Vec<(Arc<str>, Seen)> {
        let fitting = self.listed.iter().filter(|((pattern, _), _)| matches_pattern(pattern, event_type));
        let by_name: BTreeMap<_, _> = fitting.map(|((_, name), seen)| (Arc::clone(name), *seen)).collect();
        by_name.into_iter().collect()
    }
}
