//! The SQLite store against the reference in memory: histories drawn at random are carried out on both, and after each
//! step both must show the same. At the end of each, all workers run everything to its end, and nothing may be left.
//!
//! A run of all tests carries out the same few each time, so that it says of a change what the change does.
//! `PROPTEST_CASES=5000 cargo test --release -p outbox-sqlite --test differential` looks for others, and longer. A failure is
//! printed as the shortest history that shows it; it belongs into the suite of behaviour under a name of its own.

#[path = "../support/backend.rs"]
mod backend;
mod drain;
mod history;
mod pair;
mod plan;
mod record;
mod side;

use proptest::test_runner::{Config, RngAlgorithm, TestError, TestRng, TestRunner};

/// Few enough for a run of all tests.
const CASES: u32 = 32;

#[test]
fn histories_on_sqlite_and_in_memory_are_the_same() {
    let asked_for = std::env::var("PROPTEST_CASES").ok().and_then(|cases| cases.parse().ok());
    let config = Config {
        cases: asked_for.unwrap_or(CASES),
        failure_persistence: None,
        max_shrink_iters: 4_000,
        ..Config::default()
    };
    let mut runner = match asked_for {
        Some(_) => TestRunner::new(config),
        None => TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha)),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let outcome = runner.run(&plan::plan(40), |plan| {
        runtime.block_on(async {
            let mut history = history::run(&plan).await?;
            drain::drain(&mut history).await
        })
    });
    match outcome {
        Ok(()) => {}
        Err(TestError::Fail(reason, plan)) => panic!("{reason}\n{}", printed(&plan)),
        Err(abort) => panic!("{abort}"),
    }
}

/// A plan, one step per line.
fn printed(plan: &plan::Plan) -> String {
    let staffs = plan.staffs.iter().map(|staff| format!("{staff:?}\n"));
    let steps = plan.steps.iter().enumerate().map(|(place, step)| format!("{place}: {step:?}\n"));
    format!("blocking: {:?}\n", plan.blocking) + &staffs.chain(steps).collect::<String>()
}
