//! What a machine needs before a check can run, told all at once with the remedy.

use std::process::{Command, Stdio};

use anyhow::{Result, bail};

/// A program that must answer, and how to get it where it does not.
struct Tool {
    command: &'static [&'static str],
    purpose: &'static str,
    remedy: &'static str,
}

const TOOLS: &[Tool] = &[
    Tool {
        command: &["cargo", "fmt", "--version"],
        purpose: "formatting",
        remedy: "rustup component add rustfmt",
    },
    Tool {
        command: &["cargo", "clippy", "--version"],
        purpose: "lints",
        remedy: "rustup component add clippy",
    },
    Tool {
        command: &["cc", "--version"],
        purpose: "building the bundled SQLite",
        remedy: "apt-get install gcc libc6-dev (Debian, Ubuntu), or your system's C compiler",
    },
    Tool {
        command: &["git", "--version"],
        purpose: "listing the tracked files",
        remedy: "apt-get install git",
    },
];

/// Fails with every missing tool and its remedy.
pub(crate) fn check() -> Result<()> {
    let missing: Vec<String> = TOOLS.iter().filter(|tool| !answers(tool.command)).map(describe).collect();
    if missing.is_empty() {
        return Ok(());
    }
    bail!("this machine lacks what the checks need:\n{}", missing.join("\n"));
}

fn answers(command: &[&str]) -> bool {
    let (program, arguments) = command.split_first().expect("every tool names a program");
    let status = Command::new(program).args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

fn describe(tool: &Tool) -> String {
    format!("  {} (for {}): {}", tool.command.join(" "), tool.purpose, tool.remedy)
}
