//! Who gets the next turn.

use sqlx::sqlite::SqliteJournalMode;
use tokio::task::{JoinHandle, yield_now};

use super::*;

/// A gate, and who has passed it so far.
struct Bench {
    _directory: tempfile::TempDir,
    gate: Gate,
    passed: Arc<StdMutex<String>>,
}

impl Bench {
    async fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("app.db");
        let options = SqliteConnectOptions::new().filename(&file).journal_mode(SqliteJournalMode::Wal);
        let made = options.clone().create_if_missing(true).connect().await.unwrap();
        made.close().await.unwrap();
        let gate = Gate::new(&options, Arc::new(DatabaseFile::new(file)));
        Self { _directory: directory, gate, passed: Arc::default() }
    }

    /// One that waits for its turn, and makes a mark when it has come.
    async fn waits(&self, ahead: bool, mark: char) -> JoinHandle<()> {
        let (gate, passed) = (self.gate.clone(), Arc::clone(&self.passed));
        let task = tokio::spawn(async move {
            let pass = if ahead { gate.pass_ahead().await } else { gate.pass().await };
            passed.lock().unwrap().push(mark);
            drop(pass.unwrap());
        });
        // Until it waits.
        yield_now().await;
        task
    }
}

#[tokio::test]
async fn the_application_waits_for_one_of_the_frameworks_writers_however_many_ask() {
    let bench = Bench::new().await;
    let held = bench.gate.pass().await.unwrap();
    let mut tasks = Vec::new();
    for mark in '1'..='4' {
        tasks.push(bench.waits(false, mark).await);
    }
    for mark in 'a'..='c' {
        tasks.push(bench.waits(true, mark).await);
    }
    drop(held);
    for task in tasks {
        task.await.unwrap();
    }
    // Each in its order, and the framework's not forgotten.
    assert_eq!(*bench.passed.lock().unwrap(), "1abc234");
}

#[tokio::test]
async fn an_application_that_never_stops_asking_leaves_every_second_turn_to_the_framework() {
    let bench = Bench::new().await;
    let held = bench.gate.pass_ahead().await.unwrap();
    let mut tasks = Vec::new();
    for mark in '1'..='3' {
        tasks.push(bench.waits(false, mark).await);
    }
    let application = tokio::spawn({
        let (gate, passed) = (bench.gate.clone(), Arc::clone(&bench.passed));
        async move {
            for _ in 0..3 {
                let pass = gate.pass_ahead().await.unwrap();
                passed.lock().unwrap().push('a');
                drop(pass);
            }
        }
    });
    yield_now().await;
    drop(held);
    application.await.unwrap();
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(*bench.passed.lock().unwrap(), "1a2a3a");
}
