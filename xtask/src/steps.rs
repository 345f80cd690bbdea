//! The checks of the project as one table, cheapest first.

use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};

use crate::process::{cargo, cargo_with};
use crate::{deny, examples, machine};

/// One check that can be run, and repeated, by itself.
pub(crate) struct Step {
    /// What it is called on the command line.
    pub(crate) name: &'static str,
    /// What it shows, for `help`.
    pub(crate) about: &'static str,
    run: fn() -> Result<()>,
}

/// Every step, in the order in which `cargo xtask test` takes them.
pub(crate) const STEPS: &[Step] = &[
    Step { name: "fmt", about: "Formatting", run: fmt },
    Step { name: "deny", about: "Licences and duplicate versions of the dependencies", run: deny::check },
    Step { name: "clippy", about: "Lints of every target, as errors", run: clippy },
    Step { name: "doc", about: "Documentation, with warnings as errors", run: doc },
    Step { name: "tests", about: "All tests, doctests and the rules of the repository", run: tests },
    Step { name: "quickstart", about: "The smallest example", run: examples::quickstart },
    Step {
        name: "movies",
        about: "The movies example: import, search, crash and resume",
        run: examples::movies,
    },
    Step { name: "benches", about: "The benchmarks on few rows; only wrong counts fail", run: benches },
];

/// Runs the steps of these names, or all.
///
/// # Errors
///
/// When the machine lacks a tool, and at the first step that fails.
pub(crate) fn run(names: &[String]) -> Result<()> {
    machine::check()?;
    let chosen: Vec<&Step> = match names {
        [] => STEPS.iter().collect(),
        names => names.iter().filter_map(|name| STEPS.iter().find(|step| step.name == name)).collect(),
    };
    let mut times = Vec::new();
    for step in chosen {
        println!("==> {}: {}", step.name, step.about);
        let started = Instant::now();
        let result = (step.run)();
        times.push((step.name, started.elapsed()));
        if let Err(error) = result {
            print_times(&times);
            return Err(
                error.context(format!("step failed; repeat it with `cargo xtask test {}`", step.name))
            );
        }
    }
    print_times(&times);
    println!("all checks passed");
    Ok(())
}

fn print_times(times: &[(&str, Duration)]) {
    println!();
    for (name, time) in times {
        println!("{name:12} {:7.1} s", time.as_secs_f64());
    }
}

fn fmt() -> Result<()> {
    cargo(&["fmt", "--all", "--check"]).map_err(|_| anyhow!("run `cargo fmt --all`"))
}

fn clippy() -> Result<()> {
    cargo(&["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"])
}

fn doc() -> Result<()> {
    cargo_with(&[("RUSTDOCFLAGS", "-D warnings")], &["doc", "--workspace", "--no-deps", "--locked"])
}

/// Without cargo's `--bench` they are a smoke test, in the profile that is built already.
fn benches() -> Result<()> {
    cargo(&["test", "--package", "outbox", "--bench", "ratios", "--locked"])
}

fn tests() -> Result<()> {
    cargo(&["test", "--workspace", "--locked"])
}
