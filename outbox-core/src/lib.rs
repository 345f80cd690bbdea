//! Core of `outbox`.
