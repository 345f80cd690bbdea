//! Other processes: this program again, told on its command line what to do.

use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use outbox::{Enqueue, Synchronous};
use tokio::process::Command;

use crate::arguments::CHILD;
use crate::database::{mode, mode_name, open};
use crate::events::Noted;
use crate::machine;
use crate::worker::{self, NOOP};

/// What a child can do, with the name under which its command line has it.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Task {
    /// Commits single events, with pauses; prints `number nanoseconds` of each commit.
    Commit,
    /// Handles events; prints `MiB events-per-second`.
    Work,
}

impl Task {
    fn name(self) -> &'static str {
        match self {
            Self::Commit => "commit",
            Self::Work => "work",
        }
    }
}

/// Runs a child on a database and returns the lines it prints, as numbers. It is killed when it takes two minutes.
pub(crate) async fn spawn(
    task: Task,
    file: &Path,
    synchronous: Synchronous,
    count: usize,
) -> Result<Vec<Vec<f64>>> {
    let child = Command::new(std::env::current_exe()?)
        .args([CHILD, task.name(), mode_name(synchronous), &count.to_string()])
        .arg(file)
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let ended = tokio::time::timeout(Duration::from_secs(120), child.wait_with_output()).await;
    let output = ended.context("the child process did not end within two minutes")??;
    ensure!(
        output.status.success(),
        "the child process that was to {} failed: {}",
        task.name(),
        output.status
    );
    let text = String::from_utf8(output.stdout)?;
    let numbers = |line: &str| line.split_whitespace().map(|word| Ok(word.parse()?)).collect();
    text.lines().map(numbers).collect()
}

/// The child's side.
pub(crate) async fn run(arguments: Vec<String>) -> Result<()> {
    let [task, synchronous, count, file] = &arguments[..] else {
        bail!("{CHILD} takes a task, a mode, a number and a file");
    };
    let store = open(Path::new(file), mode(synchronous)).await?;
    let count = count.parse()?;
    match task.as_str() {
        "commit" => commit(&store, count).await,
        "work" => work(&store, count).await,
        other => bail!("{other:?} is no task of a child"),
    }
}

async fn commit(store: &outbox::SqliteOutbox, count: usize) -> Result<()> {
    let mut lines = String::new();
    for number in 0..count as u64 {
        // Pauses of different lengths, so that they do not keep step with any interval of the worker.
        tokio::time::sleep(Duration::from_micros(6_000 + number * 7_919 % 5_000)).await;
        let mut tx = store.pool().begin_with("BEGIN IMMEDIATE").await?;
        tx.enqueue(&Noted::new(number)).await?;
        tx.commit().await?;
        let since = SystemTime::now().duration_since(UNIX_EPOCH)?;
        lines.push_str(&format!("{number} {}\n", since.as_nanos()));
    }
    print!("{lines}");
    Ok(())
}

async fn work(store: &outbox::SqliteOutbox, count: usize) -> Result<()> {
    let rate = worker::handle(store, NOOP, count, worker::CONCURRENCY).await?;
    let peak = machine::own_memory("VmHWM").context("/proc/self/status has no VmHWM")?;
    println!("{peak} {rate}");
    Ok(())
}
