//! What holds implementations to the contract.
//!
//! It is not behind a feature and brings its own runtime, so that a test needs nothing but this crate.

pub mod conformance;
