//! Listing a worker's handlers, so that rows wait for them.

use std::sync::Arc;

use outbox_core::StoreError;

use crate::error::store_error;
use crate::store::Store;
use crate::subscriber::Subscriber;

/// Lists the handlers. Rows that wait for other handlers were put aside without the ones that are new, so they are
/// looked at again, in steps.
pub(crate) async fn list_handlers(store: &Store, subscriber: &Arc<Subscriber>) -> Result<(), StoreError> {
    let now = store.clock.now().as_millis();
    let handlers = subscriber.handlers.clone();
    let has_new: bool = store
        .writer()?
        .transaction(move |connection| {
            Box::pin(async move {
                let failed = |e| store_error("list handlers", e);
                let has_new = sqlx::query_scalar(include_str!("sql/subscribe_new.sql"))
                    .bind(&handlers)
                    .fetch_one(&mut *connection)
                    .await
                    .map_err(failed)?;
                let list = sqlx::query(include_str!("sql/subscribe.sql")).bind(now).bind(&handlers);
                list.execute(connection).await.map_err(failed)?;
                Ok(has_new)
            })
        })
        .await?;
    while has_new && look_again(store, subscriber, now).await? > 0 {}
    Ok(())
}

/// One step: at most 1,000 rows.
async fn look_again(store: &Store, subscriber: &Arc<Subscriber>, now: i64) -> Result<u64, StoreError> {
    let handlers = subscriber.handlers.clone();
    store
        .writer()?
        .transaction(move |connection| {
            Box::pin(async move {
                let step = sqlx::query(include_str!("sql/subscribe_look_again.sql")).bind(now).bind(handlers);
                let done = step
                    .execute(connection)
                    .await
                    .map_err(|e| store_error("look at waiting rows again", e))?;
                Ok(done.rows_affected())
            })
        })
        .await
}
