//! `import`: every movie in one transaction with its event, while the handlers run.

use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use outbox::DeadLetterFilter;
use outbox::prelude::*;

use crate::app::App;
use crate::catalogue::{self, Movie};
use crate::check;
use crate::events::MovieAdded;
use crate::progress::Progress;

/// Imports what is not there yet, waits for the handlers, and checks the outcome.
pub(crate) async fn run(app: &App, limit: Option<usize>) -> Result<()> {
    let mut movies = catalogue::movies()?;
    movies.truncate(limit.unwrap_or(usize::MAX));
    let total = movies.len();
    redrive(app).await?;
    let started = Instant::now();
    let progress = Progress::start(total, app.runs.clone());
    let outcome = app.beside_worker(add_all(&app.store, movies, &progress)).await;
    progress.end();
    let (added, importing) = outcome?;
    report(app, total, added, importing, started.elapsed());
    refuse_dead_letters(app).await?;
    check::run(&app.pool, &app.posters).await
}

/// Returns how many movies were new, and the time it took.
async fn add_all(store: &SqliteOutbox, movies: Vec<Movie>, progress: &Progress) -> Result<(usize, Duration)> {
    let started = Instant::now();
    let mut added = 0;
    for movie in movies {
        added += usize::from(add(store, movie).await?);
        progress.imported();
    }
    Ok((added, started.elapsed()))
}

/// Adds the movie and its event in one transaction, or neither if the movie is there; returns whether it was new.
async fn add(store: &SqliteOutbox, movie: Movie) -> Result<bool> {
    let mut tx = store.begin().await?;
    let insert =
        "INSERT INTO movie (id, title, release_date, director, genre, rating) VALUES (?, ?, ?, ?, ?, ?)
                  ON CONFLICT (id) DO NOTHING";
    let insert = sqlx::query(insert)
        .bind(&movie.id)
        .bind(movie.title)
        .bind(movie.release_date)
        .bind(movie.director)
        .bind(&movie.genre)
        .bind(movie.rating);
    let is_new = insert.execute(&mut *tx).await?.rows_affected() > 0;
    if is_new {
        tx.enqueue(&MovieAdded { movie_id: movie.id, genre: movie.genre }).await?;
    }
    tx.commit().await?;
    Ok(is_new)
}

fn report(app: &App, total: usize, added: usize, importing: Duration, all: Duration) {
    let there = total - added;
    println!("imported  {added} movies in {}, {there} were there already", rate(added, importing));
    let runs = usize::try_from(app.runs.handled()).unwrap_or(usize::MAX);
    println!("handled   {runs} handler runs in {}", rate(runs, all));
}

fn rate(count: usize, time: Duration) -> String {
    let seconds = time.as_secs_f64();
    format!("{seconds:.1} s ({:.0}/s)", count as f64 / seconds)
}

/// What an earlier run gave up on, say for want of disk space, is tried again.
async fn redrive(app: &App) -> Result<()> {
    let redriven = app.store.admin().retry(&DeadLetterFilter::default()).await?;
    if redriven > 0 {
        println!("retrying  {redriven} dead letters of an earlier run");
    }
    Ok(())
}

async fn refuse_dead_letters(app: &App) -> Result<()> {
    let dead = app.store.admin().dead_letters(&DeadLetterFilter::default(), 1).await?;
    if let Some(letter) = dead.first() {
        let handler = letter.handler.as_deref().unwrap_or("any handler");
        bail!("{} gave up on {} {}: {}", handler, letter.event_type, letter.event_id, letter.reason);
    }
    Ok(())
}
