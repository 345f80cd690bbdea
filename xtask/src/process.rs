//! Running cargo and other programs in the workspace.

use std::env;
use std::ffi::OsString;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// The root of the workspace.
pub(crate) fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the workspace")
}

/// Cargo's folder for what is built.
pub(crate) fn target() -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| workspace().join("target"), PathBuf::from)
}

/// Runs cargo in the workspace with its output shown.
///
/// # Errors
///
/// When cargo cannot be started or fails.
pub(crate) fn cargo(arguments: &[&str]) -> Result<()> {
    cargo_with(&[], arguments)
}

/// [`cargo`] with variables added to its environment.
///
/// # Errors
///
/// When cargo cannot be started or fails.
pub(crate) fn cargo_with(variables: &[(&str, &str)], arguments: &[&str]) -> Result<()> {
    run(Command::new(cargo_path()).args(arguments).envs(variables.iter().copied()))
}

/// Runs a program in the workspace with its output shown.
///
/// # Errors
///
/// When it cannot be started or fails; the command is named.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let shown = shown(command);
    let status =
        command.current_dir(workspace()).status().with_context(|| format!("cannot start `{shown}`"))?;
    if !status.success() {
        bail!("`{shown}` failed ({status})");
    }
    Ok(())
}

/// How a program ended, and what it printed.
pub(crate) struct Finished {
    /// Whether it ended by itself with code 0.
    pub(crate) success: bool,
    /// Standard output and standard error, as they came.
    pub(crate) text: String,
}

/// Runs a program to its end and keeps what it prints. One that runs for longer than `limit` is killed.
///
/// # Errors
///
/// When it cannot be started, or had to be killed.
pub(crate) fn capture(program: &Path, arguments: &[&str], limit: Duration) -> Result<Finished> {
    let mut output = tempfile::tempfile()?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output.try_clone()?);
    let shown = shown(&command);
    let mut child = command.spawn().with_context(|| format!("cannot start `{shown}`"))?;
    let status = wait(&mut child, limit)?;
    let mut text = String::new();
    output.seek(SeekFrom::Start(0))?;
    output.read_to_string(&mut text)?;
    let Some(status) = status else {
        bail!("`{shown}` did not end within {limit:?} and was killed; it printed:\n{text}");
    };
    Ok(Finished { success: status.success(), text })
}

/// How the child ended; none if it had to be killed.
fn wait(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let end = Instant::now() + limit;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if Instant::now() > end {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        thread::sleep(Duration::from_millis(20));
    }
}

/// The command as one would type it, without the folder of the program.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program()).file_name().unwrap_or_default();
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

/// The cargo that runs this program, so that a chosen toolchain is kept.
fn cargo_path() -> OsString {
    env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}
