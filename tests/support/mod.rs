//! What the tests of whole systems share: databases of their own, real processes, a journal of what handlers did, and
//! waits that end.

#![allow(dead_code, reason = "every test binary uses a part of it")]

pub(crate) mod chance;
pub(crate) mod child;
pub(crate) mod database;
pub(crate) mod example;
pub(crate) mod handlers;
pub(crate) mod journal;
pub(crate) mod locker;
pub(crate) mod process;
pub(crate) mod running;
pub(crate) mod wait;
