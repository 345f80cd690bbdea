//! What the tests of this crate share: databases in directories of their own, and child processes.

#![allow(dead_code, reason = "every test binary uses a part of it")]

pub(crate) mod other_writer;
pub(crate) mod subscribed;

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use sqlx::sqlite::{SqliteConnectOptions, SqliteJournalMode};
use sqlx::{AssertSqlSafe, ConnectOptions, SqliteConnection};
use tempfile::TempDir;

/// A database file in a directory that goes away with it.
pub(crate) struct Database {
    dir: TempDir,
}

impl Database {
    pub(crate) fn new() -> Self {
        Self { dir: tempfile::tempdir().expect("a temporary directory") }
    }

    pub(crate) fn dir(&self) -> &Path {
        self.dir.path()
    }

    pub(crate) fn file(&self) -> PathBuf {
        self.dir.path().join("app.db")
    }

    pub(crate) fn url(&self) -> String {
        format!("sqlite://{}", self.file().display())
    }

    /// A connection as an application would open one, in WAL mode.
    pub(crate) async fn connect(&self) -> SqliteConnection {
        connect(&self.file()).await
    }

    /// A connection after the script has run.
    pub(crate) async fn with(script: &str) -> (Self, SqliteConnection) {
        let database = Self::new();
        let mut connection = database.connect().await;
        run(&mut connection, script).await;
        (database, connection)
    }
}

pub(crate) async fn connect(file: &Path) -> SqliteConnection {
    let options = SqliteConnectOptions::new().filename(file).create_if_missing(true);
    options.journal_mode(SqliteJournalMode::Wal).connect().await.expect("the database opens")
}

pub(crate) async fn run(connection: &mut SqliteConnection, script: &str) {
    let done = sqlx::raw_sql(AssertSqlSafe(script)).execute(connection).await;
    done.unwrap_or_else(|error| panic!("{error}: {script}"));
}

/// The first column of the first row.
pub(crate) async fn number(connection: &mut SqliteConnection, query: &str) -> i64 {
    sqlx::query_scalar(AssertSqlSafe(query)).fetch_one(connection).await.expect(query)
}

/// The first column of every row.
pub(crate) async fn texts(connection: &mut SqliteConnection, query: &str) -> Vec<String> {
    sqlx::query_scalar(AssertSqlSafe(query)).fetch_all(connection).await.expect(query)
}

/// Everything that the database holds as a schema, as text that can be compared.
pub(crate) async fn schema(connection: &mut SqliteConnection) -> Vec<String> {
    let query = "SELECT type || ' ' || name || ': ' || coalesce(sql, '') FROM sqlite_schema
        WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY type, name";
    let lines = texts(connection, query).await;
    lines.iter().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// The name of the variable that tells a child process which database to work on.
pub(crate) const CHILD_DATABASE: &str = "OUTBOX_TEST_DATABASE";

/// The database that this process is to work on as a child; `None` in a run of all ignored tests, where the tests
/// that are bodies of child processes have nothing to do.
pub(crate) fn child_database() -> Option<PathBuf> {
    std::env::var_os(CHILD_DATABASE).map(PathBuf::from)
}

/// A process that runs one test of this binary, which is ignored otherwise. Killed when dropped.
pub(crate) struct Process {
    child: Option<Child>,
}

impl Process {
    pub(crate) fn start(test: &str, database: &Path, variables: &[(&str, &str)]) -> Self {
        let this = std::env::current_exe().expect("the test binary's path");
        let child = Command::new(this)
            .args(["--exact", test, "--ignored", "--nocapture", "--test-threads=1"])
            .env(CHILD_DATABASE, database)
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the test binary starts");
        Self { child: Some(child) }
    }

    pub(crate) fn child(&mut self) -> &mut Child {
        self.child.as_mut().expect("the process was not waited for")
    }

    /// SIGKILL.
    pub(crate) fn kill(mut self) {
        let mut child = self.child.take().expect("the process was not waited for");
        child.kill().expect("the process can be killed");
        child.wait().expect("the killed process ends");
    }

    /// Waits for its end, at most a minute, and fails with what it printed unless it succeeded.
    pub(crate) fn succeed(mut self) -> Output {
        let deadline = Instant::now() + Duration::from_secs(60);
        while self.child().try_wait().expect("the process is ours").is_none() {
            assert!(Instant::now() < deadline, "the process did not end within a minute");
            std::thread::sleep(Duration::from_millis(5));
        }
        let child = self.child.take().expect("the process was not waited for");
        let output = child.wait_with_output().expect("its output");
        assert!(
            output.status.success(),
            "{}\n{}\n{}",
            output.status,
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        );
        output
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            // It may have ended by itself.
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}
