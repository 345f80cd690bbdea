//! A handler with a transaction, and an event with every argument of the attribute.

use outbox::{State, UpcastError};
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[path = "../support/tx.rs"]
mod support;
use support::TestTx;

#[derive(Serialize, Deserialize)]
struct Movie {
    id: u64,
}

#[derive(Serialize, Deserialize, outbox::Event)]
#[event(type = "movie.added", version = 2, key = "movie.id", upcast = from_first_version)]
struct MovieAdded {
    movie: Movie,
}

fn from_first_version(_version: u32, payload: Value) -> Result<Value, UpcastError> {
    Ok(serde_json::json!({ "movie": payload }))
}

#[cfg(test)]
struct IndexScenario;

#[outbox::event_handler(name = "search_index", idempotency = IndexScenario)]
async fn search_index(
    MovieAdded { movie }: MovieAdded,
    tx: &mut TestTx<'_>,
    State(language): State<&'static str>,
) -> Result<(), std::io::Error> {
    let _ = (movie.id, tx, language);
    Ok(())
}

fn main() {}
