//! Processes that a test starts, signals, and never leaves behind.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

use super::child::{BODY, PLAN, Plan};
use super::journal;
use super::wait::wait_until;

/// A process of ours, killed when this is dropped.
pub(crate) struct Process {
    child: Child,
    output: PathBuf,
}

/// Numbers the processes of one test binary, for the names of their output files.
static STARTED: AtomicU32 = AtomicU32::new(0);

impl Process {
    /// A worker that follows the plan, once it has told the journal that it runs.
    pub(crate) fn worker(plan: &Plan) -> Self {
        Self::worker_with(plan, &[])
    }

    /// As [`worker`](Self::worker), with further environment variables.
    pub(crate) fn worker_with(plan: &Plan, variables: &[(&str, &str)]) -> Self {
        let process = Self::start(plan, variables);
        let is_ready =
            || journal::entries(&plan.journal, "ready").iter().any(|entry| entry.process == process.id());
        wait_until("the worker process starts", Duration::from_secs(20), is_ready, || process.printed());
        process
    }

    /// Starts a worker and does not wait for anything.
    pub(crate) fn start(plan: &Plan, variables: &[(&str, &str)]) -> Self {
        let this = std::env::current_exe().expect("the test binary's path");
        let plan_text = serde_json::to_string(plan).expect("a plan can be written");
        let mut command = Command::new(this);
        command
            .args(["--exact", BODY, "--ignored", "--nocapture", "--test-threads=1"])
            .env(PLAN, plan_text)
            .envs(variables.iter().copied());
        let directory = plan.journal.parent().expect("the journal lies in a directory");
        Self::run(command, directory)
    }

    /// Starts a program whose output goes into a file in `directory`.
    pub(crate) fn run(mut command: Command, directory: &Path) -> Self {
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let output = directory.join(format!("output-{number}"));
        let file = File::create(&output).expect("a file for the output");
        let errors = file.try_clone().expect("the same file once more");
        let child = command.stdin(Stdio::null()).stdout(file).stderr(errors).spawn();
        Self { child: child.unwrap_or_else(|error| panic!("{command:?}: {error}")), output }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let id = Pid::from_raw(self.child.id().try_into().expect("process ids are small"));
        kill(id, signal).unwrap_or_else(|error| panic!("{signal} to {id}: {error}\n{}", self.printed()));
    }

    /// SIGKILL, and waits for the end.
    pub(crate) fn kill(&mut self) {
        self.child.kill().expect("the process can be killed");
        self.child.wait().expect("a killed process ends");
    }

    /// Waits for its end.
    #[track_caller]
    pub(crate) fn ends_within(&mut self, limit: Duration) -> ExitStatus {
        let started = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("the process is ours") {
                return status;
            }
            assert!(started.elapsed() < limit, "still runs after {limit:?}\n{}", self.printed());
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// SIGTERM; fails unless it exits with 0 in time.
    #[track_caller]
    pub(crate) fn drains_within(&mut self, limit: Duration) {
        self.signal(Signal::SIGTERM);
        let status = self.ends_within(limit);
        assert!(status.success(), "{status}\n{}", self.printed());
    }

    pub(crate) fn is_running(&mut self) -> bool {
        self.child.try_wait().expect("the process is ours").is_none()
    }

    /// What it has printed, its log included.
    pub(crate) fn printed(&self) -> String {
        String::from_utf8_lossy(&std::fs::read(&self.output).unwrap_or_default()).into_owned()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if std::thread::panicking() {
            #[allow(clippy::print_stdout, reason = "the test harness shows it, since the test fails")]
            {
                println!("---- process {} printed:\n{}", self.id(), self.printed());
            }
        }
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
