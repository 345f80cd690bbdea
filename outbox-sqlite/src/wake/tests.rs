use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};
use sqlx::{AssertSqlSafe, ConnectOptions, SqliteConnection};
use tempfile::TempDir;
use tokio::time::timeout;

use super::*;

struct World {
    dir: TempDir,
    journal: SqliteJournalMode,
    hub: WakeHub,
}

impl World {
    async fn new(journal: SqliteJournalMode, start_files: StartFiles) -> Self {
        let dir = tempfile::tempdir().unwrap();
        let options = SqliteConnectOptions::new().filename(dir.path().join("app.db")).journal_mode(journal);
        let mut connection = options.clone().create_if_missing(true).connect().await.unwrap();
        run(&mut connection, "CREATE TABLE t (x)").await;
        Self { dir, journal, hub: WakeHub::with_files(options, start_files) }
    }

    async fn in_wal_mode() -> Self {
        Self::new(SqliteJournalMode::Wal, FileWatcher::start).await
    }

    fn file(&self) -> PathBuf {
        self.dir.path().join("app.db")
    }

    async fn connect(&self) -> SqliteConnection {
        SqliteConnectOptions::new().filename(self.file()).journal_mode(self.journal).connect().await.unwrap()
    }

    /// A listener that has had the wake-up with which a watch begins.
    async fn listen(&self) -> WakeListener {
        let listener = self.hub.listen();
        woken(&listener).await;
        listener
    }
}

async fn run(connection: &mut SqliteConnection, sql: &'static str) {
    sqlx::raw_sql(AssertSqlSafe(sql)).execute(connection).await.unwrap();
}

async fn woken(listener: &WakeListener) {
    timeout(Duration::from_secs(10), listener.woken()).await.expect("a wake-up within ten seconds");
}

/// Fails if a wake-up comes within a time in which one would have come long since.
async fn not_woken(listener: &WakeListener) {
    assert!(timeout(Duration::from_millis(300), listener.woken()).await.is_err(), "woken for nothing");
}

#[tokio::test]
async fn our_own_commit_wakes_every_listener_even_if_it_was_not_waiting() {
    let world = World::in_wal_mode().await;
    let (one, two) = (world.listen().await, world.hub.listen());
    world.hub.notify();
    world.hub.notify();
    woken(&one).await;
    woken(&two).await;
    not_woken(&one).await;
}

#[tokio::test]
async fn a_commit_of_another_connection_wakes_and_nothing_else_does() {
    let world = World::in_wal_mode().await;
    let listener = world.listen().await;
    let mut connection = world.connect().await;
    for _ in 0..5 {
        run(&mut connection, "INSERT INTO t VALUES (1)").await;
        woken(&listener).await;
    }
    not_woken(&listener).await;
    // More than the page cache holds, so that uncommitted pages reach the log.
    run(
        &mut connection,
        "PRAGMA cache_size = 10; BEGIN; WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n
        WHERE i < 2000) INSERT INTO t SELECT randomblob(1000) FROM n",
    )
    .await;
    not_woken(&listener).await;
    run(&mut connection, "ROLLBACK").await;
    not_woken(&listener).await;
    sqlx::query("SELECT count(*) FROM t").fetch_one(&mut connection).await.unwrap();
    std::fs::write(world.dir.path().join("neighbour.txt"), "x").unwrap();
    not_woken(&listener).await;
}

#[tokio::test]
async fn commits_while_nobody_waits_are_told_to_who_waits_next_however_long_that_takes() {
    let world = World::in_wal_mode().await;
    let listener = world.listen().await;
    let mut connection = world.connect().await;
    for pause in [0, 1, 30, 100] {
        for _ in 0..3 {
            run(&mut connection, "INSERT INTO t VALUES (1)").await;
            tokio::time::sleep(Duration::from_millis(pause)).await;
        }
        woken(&listener).await;
        // And what comes while somebody waits.
        not_woken(&listener).await;
        let (_, ()) = tokio::join!(run(&mut connection, "INSERT INTO t VALUES (2)"), woken(&listener));
    }
}

#[tokio::test]
async fn a_commit_is_noticed_after_the_log_was_emptied_or_its_mode_changed() {
    let world = World::in_wal_mode().await;
    let listener = world.listen().await;
    let mut connection = world.connect().await;
    run(&mut connection, "INSERT INTO t VALUES (1)").await;
    woken(&listener).await;
    run(&mut connection, "PRAGMA wal_checkpoint(TRUNCATE)").await;
    assert_eq!(std::fs::metadata(world.dir.path().join("app.db-wal")).unwrap().len(), 0);
    run(&mut connection, "INSERT INTO t VALUES (2)").await;
    woken(&listener).await;
}

#[tokio::test]
async fn a_database_with_a_rollback_journal_that_comes_and_goes_is_watched_too() {
    let world = World::new(SqliteJournalMode::Delete, FileWatcher::start).await;
    let listener = world.listen().await;
    let mut connection = world.connect().await;
    for _ in 0..5 {
        run(&mut connection, "INSERT INTO t VALUES (1)").await;
        woken(&listener).await;
        assert!(!world.dir.path().join("app.db-journal").exists());
    }
}

#[tokio::test]
async fn where_files_cannot_be_watched_commits_are_found_by_polling() {
    let world =
        World::new(SqliteJournalMode::Wal, |_, _| Err(notify::Error::generic("no watches left"))).await;
    let listener = world.listen().await;
    let mut connection = world.connect().await;
    for _ in 0..3 {
        run(&mut connection, "INSERT INTO t VALUES (1)").await;
        woken(&listener).await;
    }
    not_woken(&listener).await;
}

#[tokio::test]
async fn the_thread_ends_with_the_last_handle_and_closes_its_connection() {
    let world = World::in_wal_mode().await;
    let listener = world.listen().await;
    let clone = world.hub.clone();
    let listeners = Arc::downgrade(&world.hub.hub.listeners);
    let World { dir, hub, .. } = world;
    drop(hub);
    assert!(listeners.strong_count() > 1, "a clone keeps the thread alive");
    drop(clone);
    let deadline = Instant::now() + Duration::from_secs(10);
    // The last connection to close removes the log.
    while listeners.strong_count() > 0 || dir.path().join("app.db-wal").exists() {
        assert!(Instant::now() < deadline, "the thread did not end");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    drop(listener);
}

#[tokio::test]
async fn commits_of_another_process_wake_and_the_time_it_takes_is_printed() {
    const COMMITS: usize = 100;
    let world = World::in_wal_mode().await;
    let listener = world.listen().await;
    let mut writer = Writer::start(&world.file());
    let mut latencies = Vec::new();
    for _ in 0..COMMITS {
        let began = writer.commit();
        woken(&listener).await;
        let woke = now();
        let committed = writer.committed();
        assert!(committed >= began);
        latencies.push(woke.saturating_sub(committed));
    }
    latencies.sort_unstable();
    let (p50, p99) = (latencies[COMMITS / 2], latencies[COMMITS * 99 / 100]);
    let mut out = std::io::stderr().lock();
    writeln!(out, "commit of another process returned -> woken: p50 {p50:?}, p99 {p99:?}").unwrap();
}

/// A process that commits when told to, and then says when the commit had returned.
struct Writer {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

const DATABASE: &str = "OUTBOX_TEST_DATABASE";

impl Writer {
    fn start(file: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "wake::tests::child_commits", "--ignored", "--nocapture", "--test-threads=1"])
            .env(DATABASE, file)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut this = Self { child, lines };
        assert_eq!(this.answer(), "ready");
        this
    }

    /// Has it commit; returns when it was told.
    fn commit(&mut self) -> Duration {
        let told = now();
        self.child.stdin.as_mut().unwrap().write_all(b"commit\n").unwrap();
        told
    }

    fn committed(&mut self) -> Duration {
        Duration::from_nanos(self.answer().parse().unwrap())
    }

    fn answer(&mut self) -> String {
        // The test harness prints lines of its own.
        let mut lines = self.lines.by_ref().map(Result::unwrap);
        let line = lines.find_map(|line| line.split_once("child: ").map(|(_, answer)| answer.to_owned()));
        line.expect("the child lives")
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
#[ignore = "runs in a child process"]
async fn child_commits() {
    let Ok(file) = std::env::var(DATABASE) else { return };
    let mut connection = SqliteConnectOptions::new().filename(file).connect().await.unwrap();
    let say = |word: String| writeln!(std::io::stdout().lock(), "child: {word}").unwrap();
    say("ready".to_owned());
    for line in std::io::stdin().lines() {
        assert_eq!(line.unwrap(), "commit");
        run(&mut connection, "INSERT INTO t VALUES (1)").await;
        say(now().as_nanos().to_string());
    }
}

/// Both processes read the same clock.
fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap()
}
