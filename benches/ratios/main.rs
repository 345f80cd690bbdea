//! What the framework costs, as ratios to loops written with the bare driver: same file type, same pragmas, same tables
//! and rows, in the same run, round by round in turn, since absolute figures of a shared machine say little.
//!
//! `cargo bench` runs all, `cargo bench -- drain memory` some, `cargo bench -- --quick` all of them on few rows, as a
//! smoke test. It fails on wrong counts only: whether a figure is ahead of its target is printed, not judged.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark's output is its result")]

mod arguments;
mod backlog;
mod bare;
mod children;
mod database;
mod drain;
mod enqueue;
mod events;
mod latency;
mod machine;
mod report;
mod rounds;
mod transactional;
mod worker;

use std::future::Future;
use std::pin::Pin;
use std::process::ExitCode;

use anyhow::Result;

use crate::arguments::{Arguments, Scale};

/// One benchmark.
struct Bench {
    name: &'static str,
    about: &'static str,
    run: fn(Scale) -> Run,
}

type Run = Pin<Box<dyn Future<Output = Result<()>>>>;

const BENCHES: &[Bench] = &[
    Bench {
        name: "enqueue",
        about: "One event in the caller's transaction, beside a hand-written INSERT",
        run: |scale| Box::pin(enqueue::run(scale)),
    },
    Bench {
        name: "drain",
        about: "Handling no-op events with the ledger, beside the bare rusqlite loop",
        run: |scale| Box::pin(drain::run(scale)),
    },
    Bench {
        name: "latency",
        about: "From a commit in another process to the start of the handler",
        run: |scale| Box::pin(latency::run(scale)),
    },
    Bench {
        name: "transactional",
        about: "Handlers that write one row in their transaction, beside a bare sqlx loop",
        run: |scale| Box::pin(transactional::run(scale)),
    },
    Bench {
        name: "backlog",
        about: "The rate of claims, and a worker's memory, with few and with many rows waiting",
        run: |scale| Box::pin(backlog::run(scale)),
    },
];

#[tokio::main]
async fn main() -> ExitCode {
    let arguments = match Arguments::of_process() {
        Ok(arguments) => arguments,
        Err(error) => {
            eprintln!("error: {error:#}");
            return ExitCode::from(2);
        }
    };
    let result = match arguments.child {
        Some(child) => children::run(child).await,
        None => run(&arguments.names, arguments.scale).await,
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(names: &[String], scale: Scale) -> Result<()> {
    machine::print();
    if scale.quick {
        println!("--quick: few rows and rounds, a smoke test; the figures mean nothing");
    }
    for bench in
        BENCHES.iter().filter(|bench| names.is_empty() || names.iter().any(|name| name == bench.name))
    {
        report::title(bench.name, bench.about);
        (bench.run)(scale).await?;
    }
    Ok(())
}
