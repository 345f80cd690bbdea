//! Running cargo and other programs in the workspace.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

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
