//! How the worker behaves, over stores in memory and on a clock that the tests move.

mod apart;
mod building;
mod clock_steps;
mod concurrency;
mod decoding;
mod faults;
mod heartbeat;
mod panics;
mod restarts;
mod retries;
mod shutdown;
mod store_errors;
mod support;
mod timeouts;
mod unhandled;
