//! Somebody else who keeps the write lock.

use std::path::Path;

use sqlx::Executor;
use sqlx::sqlite::SqliteConnection;

use super::database::connect;

/// Holds the database's write lock until it is released or dropped.
pub(crate) struct Locker {
    connection: SqliteConnection,
}

impl Locker {
    pub(crate) async fn lock(file: &Path) -> Self {
        let mut connection = connect(file).await;
        connection.execute("BEGIN IMMEDIATE").await.expect("the lock can be had");
        Self { connection }
    }

    pub(crate) async fn release(mut self) {
        self.connection.execute("ROLLBACK").await.expect("a transaction ends");
    }
}
