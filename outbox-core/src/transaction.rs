//! Transactions in which a handler's effect and its ledger mark commit together.

use std::any::{Any, TypeId};

use async_trait::async_trait;

use crate::{ClaimToken, Delivery, LedgerError, StoreError};

/// A transaction that a handler takes as `&mut Tx<'_>`.
///
/// Implemented by a backend for its transaction type with the lifetime `'static`. The generated code begins it right
/// after the claim and ends it with [`commit`](HandlerTransaction::commit), which writes the ledger mark first.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a handler's transaction",
    label = "a reference argument is the handler's transaction",
    note = "use `&mut SqliteTx<'_>`; pass everything else by value: `State<T>`, `Delivery`"
)]
#[async_trait]
pub trait HandlerTransaction: Any + Send + Sized {
    /// Marks the claim as done and commits, in one step.
    ///
    /// # Errors
    ///
    /// [`LedgerError::LeaseLost`] when the claim is no longer ours: everything is rolled back.
    async fn commit(self: Box<Self>) -> Result<(), LedgerError>;

    /// Undoes everything the handler wrote.
    ///
    /// # Errors
    ///
    /// [`StoreError`]; the transaction is gone all the same.
    async fn rollback(self: Box<Self>) -> Result<(), StoreError>;
}

/// The source of a ledger's transactions.
#[async_trait]
pub trait Transactions: Send + Sync {
    /// Which transaction type this source begins.
    fn offers(&self) -> TransactionType;

    /// Begins a transaction and checks within it that the claim is still ours.
    ///
    /// # Errors
    ///
    /// [`LedgerError::LeaseLost`] when it is not, and [`StoreErrorKind::Busy`](crate::StoreErrorKind::Busy) when
    /// another process holds the lock; no handler has run then.
    async fn begin(
        &self,
        claim: &ClaimToken,
        delivery: &Delivery,
    ) -> Result<Box<dyn Any + Send>, LedgerError>;
}

/// Names a transaction type, so that a handler and a ledger can be matched at start.
#[derive(Debug, Clone, Copy)]
pub struct TransactionType {
    id: fn() -> TypeId,
    name: fn() -> &'static str,
}

impl TransactionType {
    /// The transaction type `T`.
    #[must_use]
    pub const fn of<T: HandlerTransaction>() -> Self {
        Self { id: TypeId::of::<T>, name: std::any::type_name::<T> }
    }

    /// The type's path, for messages.
    #[must_use]
    pub fn name(self) -> &'static str {
        (self.name)()
    }

    /// Crate and type without the modules between, since types are used by the path at which their crate exports them.
    pub(crate) fn short_name(self) -> String {
        let (path, arguments) = self.name().split_at(self.name().find('<').unwrap_or(self.name().len()));
        match (path.split_once("::"), path.rsplit_once("::")) {
            (Some((krate, _)), Some((_, name))) => format!("{krate}::{name}{arguments}"),
            _ => self.name().to_owned(),
        }
    }
}

impl PartialEq for TransactionType {
    fn eq(&self, other: &Self) -> bool {
        (self.id)() == (other.id)()
    }
}

impl Eq for TransactionType {}

/// What a ledger offers, for a message; if it is nothing, where a handler that takes a transaction is tested instead.
pub(crate) fn told(offered: Option<TransactionType>) -> String {
    let none =
        "none. `MemoryOutbox` has no transactions: test such a handler on SQLite, in a temporary directory";
    offered.map_or_else(|| none.to_owned(), TransactionType::short_name)
}
