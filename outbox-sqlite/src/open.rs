//! The write connection while it is open.

use std::sync::Arc;
use std::time::Instant;

use outbox_core::StoreError;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions, Executor};

use crate::durability::Durability;
use crate::error::store_error;
use crate::hooks::Hooks;

/// An open connection that is ready for the framework's statements.
pub(crate) struct Open {
    pub(crate) connection: SqliteConnection,
    pub(crate) since: Instant,
    /// What its commits wait for.
    pub(crate) durability: Durability,
    pub(crate) hooks: Arc<Hooks>,
    /// Whether somebody else's statements ever ran on it.
    pub(crate) was_lent: bool,
    /// See `connection_state.sql`.
    state: String,
}

impl Open {
    pub(crate) async fn connect(options: &SqliteConnectOptions) -> Result<Self, StoreError> {
        let since = Instant::now();
        let opened = options.connect().await;
        let mut connection = opened.map_err(|e| store_error("open the write connection", e))?;
        let prepared = async {
            connection.execute(include_str!("sql/temp_tables.sql")).await?;
            let state = state(&mut connection).await?;
            let durability = Durability::of(&mut connection).await?;
            Ok::<_, sqlx::Error>((state, durability, Hooks::install(&mut connection).await?))
        };
        let (state, durability, hooks) =
            prepared.await.map_err(|e| store_error("prepare the write connection", e))?;
        Ok(Self { connection, since, durability, hooks, state, was_lent: false })
    }

    /// Whether something was left behind on it.
    pub(crate) async fn is_spoilt(&mut self) -> bool {
        !state(&mut self.connection).await.is_ok_and(|state| state == self.state)
    }
}

async fn state(connection: &mut SqliteConnection) -> Result<String, sqlx::Error> {
    sqlx::query_scalar(include_str!("sql/connection_state.sql")).fetch_one(connection).await
}
