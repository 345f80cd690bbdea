//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand};

/// A movie catalogue whose posters, search index and statistics are kept by event handlers.
#[derive(Parser)]
#[command(name = "movies", disable_help_subcommand = true)]
pub(crate) struct Cli {
    /// Where the database and the posters live [default: target/movies in this repository]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,

    /// Abort the process after this many handler runs, as a crash would; run the command again to go on
    #[arg(long, global = true, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) crash_after: Option<u64>,

    /// What to do; `import` if nothing is said
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Import the movies, each in one transaction with its event, while the handlers run; then check the outcome
    Import {
        /// Import only the first N movies
        #[arg(long, value_name = "N")]
        limit: Option<usize>,
    },
    /// Find movies by words of title, director or genre
    Search {
        /// All of them must be found
        #[arg(required = true)]
        words: Vec<String>,
    },
    /// Write, change and delete reviews
    #[command(subcommand)]
    Review(Review),
    /// Put movies onto the watchlist and take them off
    #[command(subcommand)]
    Watchlist(Watchlist),
    /// Show how many events wait, run, are done or dead
    Status,
}

#[derive(Subcommand)]
pub(crate) enum Review {
    /// Log a review
    Log {
        /// The movie's id, as `search` shows it
        movie: String,
        /// From 1 to 5
        #[arg(long, value_parser = clap::value_parser!(u8).range(1..=5))]
        stars: u8,
        /// What you think of it
        #[arg(default_value = "")]
        text: String,
    },
    /// Change a review
    Edit {
        /// The review's number, as `review log` printed it
        review: i64,
        /// From 1 to 5
        #[arg(long, value_parser = clap::value_parser!(u8).range(1..=5), required_unless_present = "text")]
        stars: Option<u8>,
        /// What you think of it now
        text: Option<String>,
    },
    /// Delete a review; a movie's last review takes the movie with it
    Delete {
        /// The review's number, as `review log` printed it
        review: i64,
    },
}

#[derive(Subcommand)]
pub(crate) enum Watchlist {
    /// Put a movie onto the watchlist
    Add {
        /// The movie's id, as `search` shows it
        movie: String,
    },
    /// Take a movie off the watchlist
    Remove {
        /// The movie's id, as `search` shows it
        movie: String,
    },
}
