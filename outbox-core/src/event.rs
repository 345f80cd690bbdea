//! What an application publishes.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use uuid::Uuid;

use crate::EventId;

/// A domain event: something that happened, under a stable name.
///
/// Usually derived:
///
/// ```
/// # extern crate outbox_core as outbox;
/// use serde::{Deserialize, Serialize};
/// use outbox::Event;
///
/// #[derive(Serialize, Deserialize, Event)]
/// #[event(type = "movie.added", version = 1, key = "movie_id")]
/// struct MovieAdded {
///     movie_id: String,
///     title: String,
/// }
///
/// assert_eq!(MovieAdded::TYPE, "movie.added");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not an event",
    label = "this type does not implement `Event`",
    note = "add `#[derive(Serialize, Deserialize, Event)]` and `#[event(type = \"…\")]` to it; the event is a handler's first argument, by value",
    note = "a `NewEvent` is written with `enqueue_events(&mut tx, [event])` or `store.enqueue_all(vec![event])`"
)]
pub trait Event: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The stable name of the event, such as `movie.added`. It is stored and sent, so it outlives type names.
    const TYPE: &'static str;

    /// The version of the payload's shape, from 1.
    ///
    /// A worker leaves events of a higher version to a newer worker, and passes those of a lower one through
    /// [`upcast`](Event::upcast).
    const VERSION: u32 = 1;

    /// The key within which events are handled in order, such as the id of the aggregate; `None`: no order.
    fn key(&self) -> Option<String> {
        None
    }

    /// Rewrites a payload of an older `version` into the shape of [`VERSION`](Event::VERSION).
    ///
    /// # Errors
    ///
    /// The default refuses: an older event is then dead-lettered with the reason, which a later deploy with an
    /// `upcast` can redrive.
    fn upcast(version: u32, payload: Value) -> Result<Value, UpcastError> {
        let _ = payload;
        Err(UpcastError::new(format!(
            "{} has version {version}, this handler knows {}, and the event defines no `upcast`",
            Self::TYPE,
            Self::VERSION
        )))
    }
}

/// Why an older payload could not be brought to the present version.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct UpcastError {
    reason: String,
}

impl UpcastError {
    /// An error that says why.
    pub fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into() }
    }
}

/// A field that may serve as an event's key: strings, integers, ids, and options of them (`None`: no order).
#[diagnostic::on_unimplemented(
    message = "a field of type `{Self}` cannot be an event's key",
    label = "this field is no key",
    note = "a key is a string, an integer, a `Uuid`, an `EventId`, or an `Option` of one of them; for anything else implement `EventKey`"
)]
pub trait EventKey {
    /// The key as text.
    fn event_key(&self) -> Option<String>;
}

macro_rules! key_by_display {
    ($($type:ty),*) => {$(
        impl EventKey for $type {
            fn event_key(&self) -> Option<String> {
                Some(self.to_string())
            }
        }
    )*};
}

key_by_display!(
    String, str, bool, char, u8, u16, u32, u64, u128, usize, i8, i16, i32, i64, i128, isize, Uuid, EventId
);

impl<T: EventKey> EventKey for Option<T> {
    fn event_key(&self) -> Option<String> {
        self.as_ref().and_then(T::event_key)
    }
}

impl<T: EventKey + ?Sized> EventKey for &T {
    fn event_key(&self) -> Option<String> {
        (**self).event_key()
    }
}

impl<T: EventKey + ?Sized> EventKey for Box<T> {
    fn event_key(&self) -> Option<String> {
        (**self).event_key()
    }
}

impl<T: EventKey + ToOwned + ?Sized> EventKey for Cow<'_, T> {
    fn event_key(&self) -> Option<String> {
        (**self).event_key()
    }
}
