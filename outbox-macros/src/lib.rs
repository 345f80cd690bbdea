//! The macros of `outbox`: [`macro@event_handler`] and [`macro@Event`].
//!
//! Use them through the crate `outbox`, where everything that they refer to is, too. `docs/handlers.md` in the
//! repository is the guide: every argument, the allowed signatures, and what the macros generate.

mod arguments;
mod diagnostics;
mod event;
mod handler;
mod rules;
#[cfg(test)]
mod snapshots;
mod types;

use proc_macro::TokenStream;

/// Makes an `async fn` a handler: it runs once per event, guarded by the ledger.
///
/// ```
/// # use std::io;
/// # use serde::{Deserialize, Serialize};
/// use outbox::{Event, State, event_handler};
///
/// # #[derive(Clone)]
/// # pub struct Posters;
/// # impl Posters {
/// #     async fn fetch(&self, _: &str) -> io::Result<()> { Ok(()) }
/// # }
/// #[derive(Serialize, Deserialize, Event)]
/// #[event(type = "movie.added", key = "movie_id")]
/// pub struct MovieAdded {
///     pub movie_id: String,
/// }
///
/// /// Fetches the poster once per movie.
/// #[event_handler(name = "poster_sync", timeout = "30s")]
/// pub async fn poster_sync(event: MovieAdded, State(posters): State<Posters>) -> Result<(), io::Error> {
///     posters.fetch(&event.movie_id).await
/// }
///
/// # fn main() {
/// assert_eq!(poster_sync::HANDLER.name(), "poster_sync");
/// # }
/// ```
///
/// The function stays as it is written. Beside it the macro adds a module of the same name with `HANDLER`, which is
/// registered at link time, and, under `cfg(test)`, `idempotency` with the handler's tests.
///
/// # Arguments
///
/// | argument | meaning | default |
/// |---|---|---|
/// | `name = "poster_sync"` | identity in the ledger, 1 to 64 of `a-z`, `0-9`, `_`, `.`, `-`; keep it when the function moves | required |
/// | `idempotency = Scenario` | the scenario that the generated tests run; the type may live under `cfg(test)` | an ignored test says what is missing |
/// | `idempotency(skip = "reason")` | no tests, for this reason | |
/// | `timeout = "30s"` | longest run; the future is dropped then, and the attempt has failed | the worker's |
/// | `max_attempts = 5` | attempts before the event is dead-lettered for this handler | the worker's |
/// | `lease = "10m"` | lease of its claims, which is renewed while it runs | the worker's |
/// | `on_dead = "continue"` or `"block"` | whether later events of the key go on after a dead letter | the worker's |
/// | `module = other_name` | name of the generated module, where the function's is taken | the function's |
/// | `crate = path::to::outbox` | where the library is, if not at `::outbox` | `::outbox` |
///
/// Durations are a whole number and `ms`, `s`, `m` or `h`, up to a day; a lease is at least `100ms`.
///
/// # The function
///
/// A free `async fn` at module level, without type parameters. Its first argument is the event, by value. Any of
/// `State<T>`, `Delivery` and other types that implement `FromDelivery` may follow, and at most one transaction,
/// `&mut SqliteTx<'_>`, which makes the effect and the ledger mark commit together. It returns `Result<(), E>`, where
/// `E` is any error.
///
/// # Errors
///
/// Every mistake is a compile error on its own token which says what is allowed.
#[proc_macro_attribute]
pub fn event_handler(args: TokenStream, function: TokenStream) -> TokenStream {
    handler::event_handler(args.into(), function.into()).into()
}

/// Makes a type an event, under a stable name.
///
/// ```
/// use outbox::{Event, UpcastError};
/// use serde::{Deserialize, Serialize};
/// use serde_json::Value;
///
/// #[derive(Serialize, Deserialize, Event)]
/// #[event(type = "movie.added", version = 2, key = "movie_id", upcast = from_old_versions)]
/// struct MovieAdded {
///     movie_id: String,
///     titles: Vec<String>,
/// }
///
/// /// Version 1 had one title.
/// fn from_old_versions(_version: u32, mut payload: Value) -> Result<Value, UpcastError> {
///     let title = payload["title"].take();
///     payload["titles"] = Value::Array(vec![title]);
///     Ok(payload)
/// }
///
/// let old = serde_json::json!({ "movie_id": "tt0133093", "title": "The Matrix" });
/// let event: MovieAdded = serde_json::from_value(MovieAdded::upcast(1, old)?)?;
/// assert_eq!(event.key().as_deref(), Some("tt0133093"));
/// assert_eq!(event.titles, ["The Matrix"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// | argument | meaning | default |
/// |---|---|---|
/// | `type = "movie.added"` | the event's stable name: dotted parts of letters, digits, `_`, `-`, at most 128 bytes | required |
/// | `version = 2` | version of the payload's shape | 1 |
/// | `key = "movie_id"` | the field within whose value events are handled in order; also `"movie.id"` or `"0"` | no order |
/// | `upcast = path::to::function` | `fn(u32, Value) -> Result<Value, UpcastError>`, brings an older payload to this version | older ones are refused |
/// | `crate = path::to::outbox` | where the library is, if not at `::outbox` | `::outbox` |
///
/// # Errors
///
/// Every mistake is a compile error on its own token which says what is allowed. A type with parameters is refused:
/// one event type stands for one shape of payload.
#[proc_macro_derive(Event, attributes(event))]
pub fn derive_event(input: TokenStream) -> TokenStream {
    event::derive(input.into()).into()
}
