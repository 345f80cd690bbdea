//! The smallest whole program: an event stored together with its data, and a handler that runs once for it.
#![allow(clippy::print_stdout)]
use outbox::prelude::*;

#[derive(serde::Serialize, serde::Deserialize, Event)]
#[event(type = "movie.added")]
struct MovieAdded {
    title: String,
}

/// The greeting and the mark that this handler has finished commit together.
#[event_handler(name = "greeter")]
async fn greeter(
    event: MovieAdded,
    State(stop): State<CancellationToken>,
    tx: &mut SqliteTx<'_>,
) -> sqlx::Result<()> {
    let greeting = format!("Welcome, {}!", event.title);
    sqlx::query("INSERT INTO greeting VALUES (?)").bind(greeting).execute(&mut **tx).await?;
    stop.cancel(); // No other event will come. A server would stop on a signal.
    Ok(())
}
#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let folder = tempfile::tempdir()?;
    let store = SqliteOutbox::connect(&format!("sqlite://{}/app.db", folder.path().display())).await?;
    store.migrate().await?;
    sqlx::raw_sql("CREATE TABLE movie (title); CREATE TABLE greeting (text)").execute(store.pool()).await?;

    let mut tx = store.begin().await?;
    sqlx::query("INSERT INTO movie VALUES ('Heat')").execute(&mut *tx).await?;
    tx.enqueue(&MovieAdded { title: "Heat".to_owned() }).await?;
    tx.commit().await?;

    let stop = CancellationToken::new();
    Worker::builder(store.bus(), store.ledger()).state(stop.clone()).build()?.run(stop).await?;
    let greeting = sqlx::query_scalar::<_, String>("SELECT text FROM greeting").fetch_one(store.pool());
    println!("{}", greeting.await?);
    Ok(())
}
