//! How queues, outboxes and drivers fail in the field, as their users reported it, tried against SQLite and with real
//! processes. Each module is one kind of failure; times are scaled down by settings.

mod backoff;
mod bulk;
mod disk;
mod event_ids;
mod in_memory;
mod lease;
mod locks;
mod lost_file;
mod panics;
mod payload;
mod polling;
mod registry;
mod rollback;
mod second_connection;
mod shutdown;
#[path = "../support/mod.rs"]
mod support;
mod sweep;
mod timeouts;
mod times;
mod wal;
