//! What a handler can ask for beside its event.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::sync::Arc;

use crate::{Delivery, FailureKind, HandlerFailure};

/// An argument of a handler, taken from the delivery and the worker's state.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of an event handler",
    label = "this argument cannot be taken from a delivery",
    note = "after the event a handler may take `State<T>` (T: Clone, given to the worker by `.state(…)`), `Delivery`, and one `&mut SqliteTx<'_>`"
)]
pub trait FromDelivery: Sized {
    /// Takes the argument.
    ///
    /// # Errors
    ///
    /// A failed attempt with the reason.
    fn from_delivery(delivery: &Delivery, state: &StateMap) -> Result<Self, HandlerFailure>;

    /// What the worker must have for this argument; checked when the worker is built.
    #[must_use]
    fn need() -> Option<Need> {
        None
    }
}

impl FromDelivery for Delivery {
    fn from_delivery(delivery: &Delivery, _: &StateMap) -> Result<Self, HandlerFailure> {
        Ok(delivery.clone())
    }
}

/// A value that the application gave to the worker by `.state(…)`, cloned for each run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct State<T>(pub T);

impl<T: Clone + Send + Sync + 'static> FromDelivery for State<T> {
    fn from_delivery(_: &Delivery, state: &StateMap) -> Result<Self, HandlerFailure> {
        // The worker refuses to start without it, so only a hand-made run can get here.
        let missing =
            || HandlerFailure::new(FailureKind::Retry, format!("no state of type {}", type_name::<T>()));
        state.get::<T>().cloned().map(State).ok_or_else(missing)
    }

    fn need() -> Option<Need> {
        Some(Need { id: TypeId::of::<T>(), name: type_name::<T>() })
    }
}

/// A type of state that a handler needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Need {
    id: TypeId,
    name: &'static str,
}

impl Need {
    /// The type's path.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }
}

/// Values for [`State`] arguments, one per type.
///
/// ```
/// use outbox_core::StateMap;
///
/// let state = StateMap::new().with(7_u32);
/// assert_eq!(state.get::<u32>(), Some(&7));
/// ```
#[derive(Clone, Default)]
pub struct StateMap {
    values: HashMap<TypeId, Arc<dyn Any + Send + Sync>>,
}

impl StateMap {
    /// An empty map.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a value; one of the same type is replaced.
    #[must_use]
    pub fn with<T: Clone + Send + Sync + 'static>(mut self, value: T) -> Self {
        self.values.insert(TypeId::of::<T>(), Arc::new(value));
        self
    }

    /// The value of type `T`.
    #[must_use]
    pub fn get<T: 'static>(&self) -> Option<&T> {
        self.values.get(&TypeId::of::<T>()).and_then(|value| value.downcast_ref())
    }

    pub(crate) fn meets(&self, need: &Need) -> bool {
        self.values.contains_key(&need.id)
    }
}

impl std::fmt::Debug for StateMap {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "StateMap({} values)", self.values.len())
    }
}
