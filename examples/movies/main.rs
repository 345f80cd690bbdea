//! A movie catalogue in small: 3,201 movies, each stored in one transaction with its event, while annotated handlers draw
//! posters, keep a full-text index and count genres.
//!
//! ```text
//! cargo run --release --example movies                        import, handle, check
//! cargo run --release --example movies -- search ring
//! cargo run --release --example movies -- review log hamlet-1996 --stars 5 "Four hours well spent"
//! cargo run --release --example movies -- --crash-after 500 --data target/crashed
//! cargo run --release --example movies -- --data target/crashed    goes on where the crash was
//! ```
//!
//! Where to look: [`events`] (what happens), [`import`] and [`review`] (the write side), [`handlers`] (the react side),
//! [`app`] (how both are put together), [`check`] (what must hold in the end). README.md beside this file tells the rules.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a program's output is its result")]

mod app;
mod catalogue;
mod check;
mod cli;
mod drawing;
mod events;
mod handlers;
mod import;
mod posters;
mod progress;
mod review;
mod runs;
mod search;
mod status;
mod watchlist;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Result;
use clap::Parser;
use tracing_subscriber::EnvFilter;

use self::app::App;
use self::cli::{Cli, Command, Review, Watchlist};
use self::runs::Runs;

#[tokio::main]
async fn main() -> ExitCode {
    let filter = EnvFilter::try_from_default_env().unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
    match run(Cli::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn run(cli: Cli) -> Result<()> {
    let runs = Runs::install(cli.crash_after)?;
    let app = App::open(&cli.data.unwrap_or_else(default_folder), runs).await?;
    match cli.command.unwrap_or(Command::Import { limit: None }) {
        Command::Import { limit } => import::run(&app, limit).await,
        Command::Search { words } => search::run(&app.pool, &words).await,
        Command::Review(command) => app.beside_worker(write_review(&app, command)).await,
        Command::Watchlist(command) => app.beside_worker(write_watchlist(&app, command)).await,
        Command::Status => status::run(&app).await,
    }
}

async fn write_review(app: &App, command: Review) -> Result<()> {
    match command {
        Review::Log { movie, stars, text } => {
            let review = review::log(&app.store, &movie, stars, &text).await?;
            println!("logged review {review} of {movie}");
        }
        Review::Edit { review, stars, text } => {
            review::edit(&app.store, review, stars, text.as_deref()).await?;
            println!("changed review {review}");
        }
        Review::Delete { review } => {
            let rest = match review::delete(&app.store, review).await? {
                Some(movie) => format!(", the last one of {movie}, and with it the movie"),
                None => String::new(),
            };
            println!("deleted review {review}{rest}");
        }
    }
    Ok(())
}

async fn write_watchlist(app: &App, command: Watchlist) -> Result<()> {
    let (movie, listed) = match command {
        Watchlist::Add { movie } => (movie, true),
        Watchlist::Remove { movie } => (movie, false),
    };
    let text = match (watchlist::set(&app.store, &movie, listed).await?, listed) {
        (true, true) => "is on the watchlist now",
        (false, true) => "was on the watchlist already",
        (true, false) => "is off the watchlist now",
        (false, false) => "was not on the watchlist",
    };
    println!("{movie} {text}");
    Ok(())
}

fn default_folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("target/movies")
}
