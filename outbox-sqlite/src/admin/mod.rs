//! What an operator may ask and do.

use std::sync::Arc;

use crate::store::Store;

/// The operator's side of a store.
#[derive(Clone)]
pub struct SqliteAdmin {
    #[allow(dead_code)]
    store: Arc<Store>,
}

impl SqliteAdmin {
    pub(crate) fn new(store: Arc<Store>) -> Self {
        Self { store }
    }
}
