//! The write-ahead log stays small while many times its bound goes through it, however often somebody looks.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use outbox::SqliteOptions;
use outbox::prelude::*;

use crate::support::database::Database;
use crate::support::running::{Running, quick};

/// A hundred megabytes of payload, many times the bound.
const EVENTS: i64 = 100_000;
const MIB: u64 = 1024 * 1024;

fn wal(database: &Database) -> u64 {
    let mut name = database.file().into_os_string();
    name.push("-wal");
    std::fs::metadata(PathBuf::from(name)).map_or(0, |file| file.len())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_log_stays_small_while_events_run_and_shrinks_when_they_are_done() {
    // A power failure is not what this is about.
    let options = SqliteOptions { synchronous: outbox::Synchronous::Normal, ..SqliteOptions::default() };
    let database = Database::with(options).await;
    let handler = RuntimeHandler::new("none", "test.*", |_, _| async { Ok::<(), String>(()) });
    let settings = WorkerSettings { lease: Duration::from_secs(60), ..quick() };
    let running =
        Running::start(database.worker().settings(settings).concurrency(500).runtime_handler(handler));
    let payload = format!("\"{}\"", "x".repeat(1_000));
    let stop = CancellationToken::new();
    let console = tokio::spawn(look(database.store.clone(), stop.clone()));
    let mut largest = 0;
    for _ in 0..EVENTS / 500 {
        let mut tx = database.store.pool().begin_with("BEGIN IMMEDIATE").await.unwrap();
        let events = (0..500).map(|_| NewEvent::raw("test.wal", payload.clone()));
        enqueue_events(&mut tx, events).await.unwrap();
        tx.commit().await.unwrap();
        largest = largest.max(wal(&database));
    }
    let started = Instant::now();
    let done = format!("SELECT count(*) = {EVENTS} FROM event_queue WHERE status = 'done'");
    while database.number(&done).await == 0 {
        largest = largest.max(wal(&database));
        assert!(started.elapsed() < Duration::from_secs(240), "{}", database.describe().await);
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    stop.cancel();
    let looks = console.await.unwrap();
    assert!(largest < 64 * MIB, "the -wal file grew to {largest} bytes");
    assert!(looks > 20, "the console looked {looks} times");
    let shrunk = Instant::now();
    while wal(&database) >= 5 * MIB {
        assert!(
            shrunk.elapsed() < Duration::from_secs(10),
            "the -wal file still has {} bytes",
            wal(&database)
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // A reader of ours that stayed in its transaction would keep the log from being reset.
    let mut operator = database.connect().await;
    sqlx::query("PRAGMA busy_timeout = 5000").execute(&mut operator).await.unwrap();
    let (busy, _, _): (i64, i64, i64) =
        sqlx::query_as("PRAGMA wal_checkpoint(TRUNCATE)").fetch_one(&mut operator).await.unwrap();
    assert_eq!((busy, wal(&database)), (0, 0));
    running.stop().await;
}

/// Looks twenty times a second, as a console does that somebody keeps open; returns how often.
async fn look(store: SqliteOutbox, stop: CancellationToken) -> u32 {
    let mut looks = 0;
    while !stop.is_cancelled() {
        store.admin().status().await.expect("the status");
        store.admin().dead_letters(&outbox::DeadLetterFilter::default(), 20).await.expect("the dead letters");
        looks += 1;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    looks
}
