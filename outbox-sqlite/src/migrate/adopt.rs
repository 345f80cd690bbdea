//! Taking over tables that were there before us.

use sqlx::{Connection, SqliteConnection};

use super::compare::differences;
use super::error::{MigrateError, failed};
use super::schema::Schema;
use super::script::{MIGRATIONS, Migration, Names};
use super::trial::Trial;

/// What of the things that `pending` creates is there already and may stay as it is: mostly nothing.
///
/// # Errors
///
/// [`MigrateError::Differs`], naming everything about it that would keep ours from working.
pub(super) async fn inspect(
    connection: &mut SqliteConnection,
    pending: &Migration,
) -> Result<Names, MigrateError> {
    let actual = Schema::read(connection).await?;
    let to_come = MIGRATIONS.iter().filter(|migration| migration.version >= pending.version);
    let to_come: Names = to_come.flat_map(Migration::creates).collect();
    let mut present = pending.creates();
    present.retain(|name| actual.contains(name));
    // What a later migration would stumble over is refused before the first one runs.
    if !to_come.iter().any(|name| actual.contains(name)) {
        return Ok(present);
    }
    let mut model_connection = Schema::model().await?;
    let model = Schema::read(&mut model_connection).await?;
    let mut found = differences(&actual, &model, &to_come);
    if found.is_empty() && present.contains("event_queue") {
        found = odd_states(connection).await?;
        if actual.contains("event_queue.event_id") {
            found.extend(repeated_ids(connection).await?);
        }
        let columns = defaulted(&actual, &model);
        let expected = Trial::run(&mut model_connection, &columns).await?;
        found.extend(Trial::run(connection, &columns).await?.differences(&expected));
    }
    model_connection.close().await.map_err(failed("close the tables to compare with"))?;
    if found.is_empty() { Ok(present) } else { Err(MigrateError::Differs { differences: found }) }
}

/// The queue's columns that writers may leave out and that are there.
fn defaulted(actual: &Schema, model: &Schema) -> Vec<String> {
    let columns = model.tables["event_queue"].columns.iter().filter(|column| column.default.is_some());
    let names = columns.map(|column| column.name.clone());
    names.filter(|name| actual.contains(&format!("event_queue.{name}"))).collect()
}

/// Rows in states of another queue's: refused rather than forgotten.
async fn odd_states(connection: &mut SqliteConnection) -> Result<Vec<String>, MigrateError> {
    let query = sqlx::query_as(include_str!("../sql/migrate_odd_states.sql")).fetch_all(connection);
    let states: Vec<(String, u64)> = query.await.map_err(failed("read the states of the queue's rows"))?;
    let sentence = |(state, rows)| {
        format!(
            "event_queue.status is {state} in {rows} rows, and must be 'pending', 'processing', 'done' or \
             'dead_lettered'"
        )
    };
    Ok(states.into_iter().map(sentence).collect())
}

/// An event has one row: with two of an id, each would count as the other's repetition.
async fn repeated_ids(connection: &mut SqliteConnection) -> Result<Option<String>, MigrateError> {
    let query = sqlx::query_scalar(include_str!("../sql/migrate_repeated_ids.sql")).fetch_one(connection);
    let rows: i64 = query.await.map_err(failed("read the ids of the queue's rows"))?;
    Ok((rows > 0).then(|| format!("event_queue.event_id repeats another row's id in {rows} rows")))
}
