//! A handler without a mistake, spelled as the generated module needs it.

use std::time::Duration;

use syn::{Attribute, Ident, Path, Type, Visibility};

use super::args::{Idempotency, OnDead};

/// Everything that the expansion depends on.
pub(crate) struct Handler {
    pub(crate) cfgs: Vec<Attribute>,
    pub(crate) is_deprecated: bool,
    pub(crate) vis: Visibility,
    pub(crate) function: Ident,
    pub(crate) module: Ident,
    pub(crate) krate: Path,
    pub(crate) name: String,
    pub(crate) event: Argument,
    /// The arguments behind the event, in order.
    pub(crate) arguments: Vec<Argument>,
    pub(crate) returns: Type,
    pub(crate) timeout: Option<Duration>,
    pub(crate) max_attempts: Option<u32>,
    pub(crate) lease: Option<Duration>,
    pub(crate) on_dead: Option<OnDead>,
    pub(crate) idempotency: Option<Idempotency>,
}

/// One argument of the function.
pub(crate) struct Argument {
    /// The variable that holds it in the generated code.
    pub(crate) variable: Ident,
    /// Its type, without the `&mut` of a transaction.
    pub(crate) ty: Type,
    pub(crate) is_transaction: bool,
}

impl Handler {
    /// The transaction that the function takes, if it takes one.
    pub(crate) fn transaction(&self) -> Option<&Argument> {
        self.arguments.iter().find(|argument| argument.is_transaction)
    }

    /// What the function takes from the delivery and the worker's state.
    pub(crate) fn extracted(&self) -> impl Iterator<Item = &Argument> {
        self.arguments.iter().filter(|argument| !argument.is_transaction)
    }
}
