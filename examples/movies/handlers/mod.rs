//! What this application does when something happened.
//!
//! Each handler runs once per event. Those that take a `&mut SqliteTx` change the database exactly once, since the change
//! and the ledger mark commit together; that is what makes the counters of [`genres`] right. The others, in [`posters`],
//! may run again after a crash, and are written so that a second run changes nothing.

mod genres;
mod posters;
mod search;
mod stars;
