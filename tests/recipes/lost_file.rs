//! The database's file is deleted, replaced or put back while it is open: nothing is written to a file without a name, and
//! a worker says so, waits, and goes on with the file that comes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use outbox::prelude::*;

use crate::support::child::Plan;
use crate::support::database::url;
use crate::support::handlers::{Does, Job};
use crate::support::journal;
use crate::support::process::Process;
use crate::support::wait::wait_until;

const SOON: Duration = Duration::from_secs(20);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_whose_database_was_deleted_says_so_and_works_on_the_one_that_takes_its_place() {
    let database = Replaceable::new();
    let plan = &database.plan;
    let (first, mut worker) = database.in_use().await;
    remove_database(&plan.database);
    let error = first.enqueue(&Job { does: Does::Nothing }).await.unwrap_err().to_string();
    assert!(error.contains("app.db was deleted or moved while it was open"), "{error}");
    assert!(first.pool().acquire().await.is_err(), "a connection to nowhere is not given out");
    until_it_says_that_the_file_is_lost(&worker);
    assert!(!plan.database.exists(), "nobody takes a lost database for a new one");
    std::thread::sleep(Duration::from_millis(500));
    assert_eq!(worker.printed().matches("the store fails; trying again until it works").count(), 1);
    // From a backup, or a new one.
    let second = open(&plan.database).await;
    second.enqueue(&Job { does: Does::Nothing }).await.unwrap();
    wait_until("the second event is handled", SOON, || begun(plan) == 2, || worker.printed());
    let listed = second.admin().handlers().await.unwrap();
    assert_eq!(listed.len(), 2, "the worker has listed its handlers there, too: {listed:?}");
    worker.drains_within(Duration::from_secs(5));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_backup_that_is_moved_over_the_database_is_worked_on() {
    let database = Replaceable::new();
    let plan = &database.plan;
    let (first, mut worker) = database.in_use().await;
    let backup = database.backup().await;
    remove_database(&plan.database);
    std::fs::rename(backup, &plan.database).unwrap();
    wait_until("the backup's event is handled", SOON, || begun(plan) == 2, || worker.printed());
    // The application's own pool follows, too.
    first.admin().status().await.unwrap();
    let done = sqlx::query_scalar::<_, i64>("SELECT count(*) FROM event_queue").fetch_one(first.pool()).await;
    assert_eq!(done.unwrap(), 1);
    worker.drains_within(Duration::from_secs(5));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_put_back_is_worked_on() {
    let database = Replaceable::new();
    let plan = &database.plan;
    let (first, mut worker) = database.in_use().await;
    let aside = database.directory.path().join("aside");
    std::fs::rename(&plan.database, &aside).unwrap();
    until_it_says_that_the_file_is_lost(&worker);
    std::fs::rename(&aside, &plan.database).unwrap();
    first.enqueue(&Job { does: Does::Nothing }).await.unwrap();
    wait_until("the second event is handled", SOON, || begun(plan) == 2, || worker.printed());
    worker.drains_within(Duration::from_secs(5));
}

fn remove_database(file: &Path) {
    for suffix in ["", "-wal", "-shm"] {
        let mut name = file.as_os_str().to_owned();
        name.push(suffix);
        // The log and its index come and go.
        let _ = std::fs::remove_file(name);
    }
}

/// A database in a directory that is not migrated again when it is gone.
struct Replaceable {
    directory: tempfile::TempDir,
    plan: Plan,
}

impl Replaceable {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let plan = Plan::new(directory.path().join("app.db"), directory.path().join("journal"));
        Self { directory, plan }
    }

    /// An application's store, and a worker that has handled the first event of it.
    async fn in_use(&self) -> (SqliteOutbox, Process) {
        let store = open(&self.plan.database).await;
        let worker = Process::worker(&self.plan);
        store.enqueue(&Job { does: Does::Nothing }).await.unwrap();
        wait_until("the first event is handled", SOON, || begun(&self.plan) == 1, || worker.printed());
        (store, worker)
    }

    /// A backup of another database with one event, made as SQLite advises.
    async fn backup(&self) -> PathBuf {
        let store = open(&self.directory.path().join("other.db")).await;
        store.enqueue(&Job { does: Does::Nothing }).await.unwrap();
        let file = self.directory.path().join("backup.db");
        let vacuum = sqlx::query("VACUUM INTO ?").bind(file.to_str().expect("its path is UTF-8"));
        vacuum.execute(store.pool()).await.unwrap();
        file
    }
}

async fn open(file: &Path) -> SqliteOutbox {
    let store = SqliteOutbox::connect(&url(file)).await.unwrap();
    store.migrate().await.unwrap();
    store
}

fn until_it_says_that_the_file_is_lost(worker: &Process) {
    let says_so = || worker.printed().contains("was deleted or moved while it was open");
    wait_until("the worker says so", SOON, says_so, || worker.printed());
}

fn begun(plan: &Plan) -> usize {
    journal::entries(&plan.journal, "begin").len()
}
