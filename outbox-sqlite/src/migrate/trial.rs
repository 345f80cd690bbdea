//! Trying out on a queue what workers and writers will do, and undoing it.

use outbox_core::EventState;
use serde_json::{Map, Value};
use sqlx::{AssertSqlSafe, Connection, SqliteConnection};

use super::error::{MigrateError, failed};

/// What happened to a row that was inserted as a foreign writer would, and then took every state.
///
/// Finds what no look at the columns shows: CHECK constraints, triggers, the values that defaults come to.
#[derive(Debug, Default)]
pub(super) struct Trial {
    /// Why the row was not taken.
    refused: Option<String>,
    /// What the columns that were left out came to.
    defaults: Map<String, Value>,
    /// States that the row could not take, with the reason.
    refused_states: Vec<(EventState, String)>,
}

impl Trial {
    /// Runs in a savepoint of the open transaction and takes everything back. `columns` are those with a default.
    pub(super) async fn run(
        connection: &mut SqliteConnection,
        columns: &[String],
    ) -> Result<Self, MigrateError> {
        let failed = failed("try out the queue");
        let mut savepoint = connection.begin().await.map_err(&failed)?;
        let trial = match insert(&mut savepoint, columns).await {
            Ok((row, defaults)) => {
                let defaults = serde_json::from_str(&defaults).unwrap_or_default();
                Self { defaults, refused_states: take_states(&mut savepoint, row).await, ..Self::default() }
            }
            Err(error) => Self { refused: Some(reason(&error)), ..Self::default() },
        };
        savepoint.rollback().await.map_err(&failed)?;
        Ok(trial)
    }

    /// One sentence for each thing that is not as in the model.
    pub(super) fn differences(&self, model: &Trial) -> Vec<String> {
        let refused = self.refused.iter().map(|reason| {
            format!("event_queue refuses a row that gives only event_id, event_type and payload: {reason}")
        });
        let defaults = self.defaults.iter().filter_map(|(column, value)| {
            let expected = model.defaults.get(column)?;
            (!same_default(column, value, expected))
                .then(|| format!("event_queue.{column} defaults to {value}, and must default to {expected}"))
        });
        let states = self
            .refused_states
            .iter()
            .map(|(state, reason)| format!("event_queue refuses the status '{state}': {reason}"));
        refused.chain(defaults).chain(states).collect()
    }
}

/// Inserts a row; returns its number and its defaults as a JSON object.
async fn insert(connection: &mut SqliteConnection, columns: &[String]) -> Result<(i64, String), sqlx::Error> {
    let pairs: Vec<String> = columns.iter().map(|column| format!("'{column}', {column}")).collect();
    let has_id: bool =
        sqlx::query_scalar("SELECT count(*) FROM pragma_table_info('event_queue') WHERE name = 'event_id'")
            .fetch_one(&mut *connection)
            .await?;
    let (id_column, id_value) = if has_id { ("event_id, ", "'outbox.trial', ") } else { ("", "") };
    let sql = format!(
        "INSERT INTO event_queue ({id_column}event_type, payload) VALUES ({id_value}'outbox.trial', '{{}}') \
         RETURNING id, json_object({})",
        pairs.join(", ")
    );
    sqlx::query_as(AssertSqlSafe(sql)).fetch_one(connection).await
}

async fn take_states(connection: &mut SqliteConnection, row: i64) -> Vec<(EventState, String)> {
    let mut refused = Vec::new();
    for state in [EventState::Processing, EventState::Done, EventState::DeadLettered, EventState::Pending] {
        let update =
            sqlx::query("UPDATE event_queue SET status = ? WHERE id = ?").bind(state.as_str()).bind(row);
        if let Err(error) = update.execute(&mut *connection).await {
            refused.push((state, reason(&error)));
        }
    }
    refused
}

/// Times need not be the model's, only numbers that do not lie ahead: rows would wait for a due time that never comes.
fn same_default(column: &str, value: &Value, expected: &Value) -> bool {
    const SLACK_MS: i64 = 86_400_000;
    match (column, value.as_i64(), expected.as_i64()) {
        ("available_at" | "created_at", given, Some(now)) => {
            given.is_some_and(|given| given <= now + SLACK_MS)
        }
        _ => value == expected,
    }
}

fn reason(error: &sqlx::Error) -> String {
    error.as_database_error().map_or_else(|| error.to_string(), |error| error.message().to_owned())
}
