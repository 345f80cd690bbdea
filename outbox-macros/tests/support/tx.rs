//! A transaction type for the cases; what it does is the business of a backend's tests.

use std::marker::PhantomData;

use outbox::{HandlerTransaction, LedgerError, StoreError};

pub(crate) struct TestTx<'c>(PhantomData<&'c ()>);

#[outbox::async_trait]
impl HandlerTransaction for TestTx<'static> {
    async fn commit(self: Box<Self>) -> Result<(), LedgerError> {
        Ok(())
    }

    async fn rollback(self: Box<Self>) -> Result<(), StoreError> {
        Ok(())
    }
}
