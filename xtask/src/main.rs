//! The project's own commands. `cargo xtask test` runs every check, on a fresh machine too.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command's output is its result")]

mod deny;
mod examples;
mod machine;
mod movies_data;
mod process;
mod steps;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::{PossibleValue, PossibleValuesParser};
use clap::{Parser, Subcommand};

/// The project's own commands
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Run every check, or only the steps named, stopping at the first failure
    Test {
        /// Steps to run, in the order given; all when none is named
        #[arg(value_name = "STEP", value_parser = step_names())]
        steps: Vec<String>,
    },
    /// Make examples/data/movies.jsonl from the movies.json of vega-datasets
    MoviesData {
        /// The source file
        file: PathBuf,
    },
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Test { steps } => steps::run(&steps),
        Command::MoviesData { file } => {
            let target = process::workspace().join("examples/data/movies.jsonl");
            movies_data::convert(&file, &target).map(|summary| println!("{summary}"))
        }
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The names of the table of steps, so that `help` lists them and a typo is answered with the right one.
fn step_names() -> PossibleValuesParser {
    PossibleValuesParser::new(steps::STEPS.iter().map(|step| PossibleValue::new(step.name).help(step.about)))
}
