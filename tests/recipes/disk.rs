//! The disk is full, the database may not be written to, or is gone: a worker says so once, waits, and goes on when it is
//! mended.

use std::path::PathBuf;
use std::time::Duration;

use nix::mount::{MntFlags, MsFlags, mount, umount2};
use outbox::prelude::*;
use outbox::{Health, StoreErrorKind};
use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode, SqlitePoolOptions};

use crate::support::child::Plan;
use crate::support::database::{Database, url};
use crate::support::handlers::{Does, Job};
use crate::support::journal;
use crate::support::process::Process;
use crate::support::running::{Running, quick};
use crate::support::wait::{until, wait_until};

const SOON: Duration = Duration::from_secs(20);

/// A disk of four megabytes in memory.
struct SmallDisk {
    directory: tempfile::TempDir,
}

impl SmallDisk {
    /// `None` where this user may not mount one.
    fn mount() -> Option<Self> {
        let directory = tempfile::tempdir().unwrap();
        let mounted =
            mount(Some("tmpfs"), directory.path(), Some("tmpfs"), MsFlags::empty(), Some("size=4m"));
        match mounted {
            Ok(()) => Some(Self { directory }),
            Err(nix::Error::EPERM) => None,
            Err(error) => panic!("a small disk cannot be mounted: {error}"),
        }
    }

    fn filler(&self) -> PathBuf {
        self.directory.path().join("filler")
    }

    /// Takes all the space that is left.
    fn fill(&self) {
        let filler = std::fs::File::create(self.filler()).unwrap();
        let block = [7_u8; 4096];
        while std::io::Write::write_all(&mut &filler, &block).is_ok() {}
    }

    fn free(&self) {
        std::fs::remove_file(self.filler()).unwrap();
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Whatever still has files open there keeps its view; the directory can be removed.
        let _ = umount2(self.directory.path(), MntFlags::MNT_DETACH);
    }
}

fn begun(plan: &Plan) -> usize {
    journal::entries(&plan.journal, "begin").len()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_was_full_for_a_while_costs_no_event_and_no_second_run() {
    let Some(disk) = SmallDisk::mount() else {
        // Without the right to mount, a database with a limit of its own shows the same below.
        return a_database_at_its_limit().await;
    };
    let elsewhere = tempfile::tempdir().unwrap();
    let file = disk.directory.path().join("app.db");
    let store = SqliteOutbox::connect(&url(&file)).await.unwrap();
    store.migrate().await.unwrap();
    let plan = Plan { concurrency: 4, lease_ms: 30_000, ..Plan::new(file, elsewhere.path().join("journal")) };
    let mut worker = Process::worker(&plan);
    for _ in 0..20 {
        store.enqueue(&Job { does: Does::Sleep(150) }).await.unwrap();
    }
    wait_until("handlers have begun", SOON, || begun(&plan) >= 5, || worker.printed());
    disk.fill();
    let is_failing = || worker.printed().contains("no space is left on the disk");
    wait_until("the worker finds the disk full", SOON, is_failing, || worker.printed());
    let error = loop {
        if let Err(error) = store.enqueue(&Job { does: Does::Nothing }).await {
            break error;
        }
    };
    assert!(error.to_string().contains("no space is left on the disk"), "{error}");
    std::thread::sleep(Duration::from_millis(1_500));
    assert!(worker.is_running(), "{}", worker.printed());
    let complaints = worker.printed().matches("the store fails; trying again until it works").count();
    assert!(complaints <= 2, "once per kind of failure:\n{}", worker.printed());
    assert!(worker.printed().contains("free disk space"), "{}", worker.printed());
    disk.free();
    let query = "SELECT count(*) FROM event_queue WHERE status <> 'done'";
    let left = async || sqlx::query_scalar::<_, i64>(query).fetch_one(store.pool()).await.unwrap();
    until("all is done", SOON, async || left().await == 0, async || worker.printed()).await;
    let claims: Vec<(String, i64)> = sqlx::query_as("SELECT status, attempts FROM processed_events")
        .fetch_all(store.pool())
        .await
        .unwrap();
    assert!(claims.len() >= 20 && claims.iter().all(|claim| *claim == ("done".to_owned(), 1)), "{claims:?}");
    assert_eq!(begun(&plan), claims.len());
    let recovered = || worker.printed().contains("the store works again");
    wait_until("the worker says that it is over", SOON, recovered, || worker.printed());
    worker.drains_within(Duration::from_secs(5));
    store.pool().close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_may_not_grow_is_reported_as_full_and_goes_on_when_there_is_room() {
    a_database_at_its_limit().await;
}

/// SQLite's own limit of pages reports the same as a full disk, and needs no right to mount one.
async fn a_database_at_its_limit() {
    let database = Database::new().await;
    database.run("CREATE TABLE filler (bytes BLOB); INSERT INTO filler VALUES (zeroblob(400000))").await;
    let pages = database.number("PRAGMA page_count").await;
    let limited = SqliteConnectOptions::new()
        .filename(database.file())
        .journal_mode(SqliteJournalMode::Wal)
        .pragma("max_page_count", (pages + 4).to_string());
    let store = SqliteOutbox::new(SqlitePoolOptions::new().connect_with(limited).await.unwrap());
    let (handler, calls) = counting();
    let running = Running::start(
        Worker::builder(store.bus(), store.ledger())
            .only_given_handlers()
            .settings(WorkerSettings { lease: Duration::from_secs(30), ..quick() })
            .runtime_handler(handler),
    );
    let state = async || format!("{:?}", running.health());
    until("it starts", SOON, async || running.health().is_ready(), state).await;
    let mut enqueued = 0;
    // By somebody without the limit, until there is no page left for the claims.
    while running.health().is_ready() {
        database.store.enqueue(&Job { does: Does::Nothing }).await.unwrap();
        enqueued += 1;
        assert!(enqueued < 10_000, "the limit is never reached");
    }
    let reasons = match running.health() {
        Health::Degraded { reasons } => reasons,
        health => panic!("{health:?}"),
    };
    assert!(reasons.iter().any(|reason| reason.contains("no space is left on the disk")), "{reasons:?}");
    database.run("DELETE FROM filler").await;
    database.until_done(SOON, enqueued).await;
    assert_eq!(calls.load(std::sync::atomic::Ordering::SeqCst), enqueued);
    until(
        "it is well",
        SOON,
        async || running.health().is_ready(),
        async || format!("{:?}", running.health()),
    )
    .await;
    running.stop().await;
}

fn counting() -> (RuntimeHandler, std::sync::Arc<std::sync::atomic::AtomicI64>) {
    let calls = std::sync::Arc::<std::sync::atomic::AtomicI64>::default();
    let counted = std::sync::Arc::clone(&calls);
    let handler = RuntimeHandler::new("counting", "test.*", move |_, _| {
        counted.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
        async { Ok::<(), String>(()) }
    });
    (handler, calls)
}

#[tokio::test]
async fn a_file_that_is_read_only_is_refused_at_start_by_name() {
    let database = Database::new().await;
    let mut permissions = std::fs::metadata(database.file()).unwrap().permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(database.file(), permissions).unwrap();
    let error = SqliteOutbox::connect(&url(&database.file())).await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::ReadOnly);
    let text = error.to_string();
    assert!(text.contains("app.db is read-only") && text.contains("chmod u+w"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_may_only_read_stays_alive_says_so_and_ends_when_told() {
    let database = Database::new().await;
    let read_only = SqliteConnectOptions::new().filename(database.file()).read_only(true);
    let store = SqliteOutbox::new(SqlitePoolOptions::new().connect_with(read_only).await.unwrap());
    let error = store.enqueue(&Job { does: Does::Nothing }).await.unwrap_err().to_string();
    assert!(error.contains("read-only") && error.contains("must be writable"), "{error}");
    let (handler, _) = counting();
    let builder = Worker::builder(store.bus(), store.ledger()).only_given_handlers().settings(quick());
    let running = Running::start(builder.runtime_handler(handler));
    let says_why = async || {
        let health = running.health();
        matches!(&health, Health::Degraded { reasons } if reasons[0].contains("must be writable"))
    };
    until("it is degraded", SOON, says_why, async || format!("{:?}", running.health())).await;
    running.stop().await;
}
