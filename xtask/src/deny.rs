//! Licences and duplicate versions of the dependencies, by cargo-deny under the rules of `deny.toml`.

use std::env::consts::EXE_SUFFIX;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::process::{cargo, run, target};

/// The version that the rules were written for; it is built once, into `target/tools` (four minutes on two cores).
const VERSION: &str = "0.20.2";

/// An exception in `deny.toml` that nothing needs any more is an error: the list may only shrink.
const ARGUMENTS: &[&str] = &[
    "--locked",
    "check",
    "--deny=unmatched-skip",
    "--deny=unnecessary-skip",
    "--deny=license-not-encountered",
    "licenses",
    "bans",
    "sources",
];

/// Checks the dependencies, and installs the tool first where it is missing.
///
/// # Errors
///
/// When the tool cannot be built, or a dependency breaks a rule.
pub(crate) fn check() -> Result<()> {
    let tools = target().join("tools");
    let program = program(&tools);
    if !is_installed(&program) {
        println!("building cargo-deny {VERSION} into {}", tools.display());
        let root = tools.to_string_lossy();
        cargo(&["install", "--locked", "--quiet", "--root", &root, "--version", VERSION, "cargo-deny"])?;
    }
    run(Command::new(program).args(ARGUMENTS))
}

fn program(tools: &Path) -> PathBuf {
    tools.join("bin").join(format!("cargo-deny{EXE_SUFFIX}"))
}

fn is_installed(program: &Path) -> bool {
    let output = Command::new(program).arg("--version").output();
    output.is_ok_and(|output| output.stdout.trim_ascii().ends_with(VERSION.as_bytes()))
}
