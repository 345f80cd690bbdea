//! What must hold once every event is handled: the catalogue, the index, the posters and the counters tell the same.

use std::collections::BTreeSet;

use anyhow::{Result, bail};
use sqlx::SqlitePool;

use crate::posters::Posters;

/// Compares them and prints the result.
///
/// # Errors
///
/// When they differ, naming how.
pub(crate) async fn run(pool: &SqlitePool, posters: &Posters) -> Result<()> {
    let movies: BTreeSet<String> = set(pool, "SELECT id FROM movie").await?;
    let indexed =
        set(pool, "SELECT id FROM movie JOIN movie_search ON movie_search.rowid = movie.number").await?;
    let rows: i64 = sqlx::query_scalar("SELECT count(*) FROM movie_search").fetch_one(pool).await?;
    let drawn: BTreeSet<String> = posters.ids()?.into_iter().collect();

    let mut faults = Vec::new();
    faults.extend(difference("index", &movies, &indexed));
    faults.extend(difference("posters", &movies, &drawn));
    if rows != i64::try_from(indexed.len())? {
        faults.push(format!("index: {rows} rows for {} movies", indexed.len()));
    }
    faults.extend(miscounts(pool).await?);
    if !faults.is_empty() {
        bail!("check failed\n  {}", faults.join("\n  "));
    }
    let genres: i64 =
        sqlx::query_scalar("SELECT count(*) FROM genre_stats WHERE movies > 0").fetch_one(pool).await?;
    println!(
        "check     movies {} = index rows {rows} = posters {}; the counts of {genres} genres add up",
        movies.len(),
        drawn.len()
    );
    Ok(())
}

async fn set(pool: &SqlitePool, select: &'static str) -> Result<BTreeSet<String>, sqlx::Error> {
    Ok(sqlx::query_scalar(select).fetch_all(pool).await?.into_iter().collect())
}

/// How many are missing and how many are too many, each with an example.
fn difference(what: &str, expected: &BTreeSet<String>, found: &BTreeSet<String>) -> Vec<String> {
    let missing: Vec<&String> = expected.difference(found).collect();
    let extra: Vec<&String> = found.difference(expected).collect();
    let tell = |ids: &[&String], how: &str| {
        ids.first().map(|first| format!("{what}: {} {how}, such as {first}", ids.len()))
    };
    tell(&missing, "missing").into_iter().chain(tell(&extra, "too many")).collect()
}

/// Genres whose counters differ from what the tables say.
async fn miscounts(pool: &SqlitePool) -> Result<Vec<String>, sqlx::Error> {
    let select = "WITH counted AS (
            SELECT coalesce(genre, '(none)') AS genre, count(*) AS movies,
                   sum(id IN (SELECT movie_id FROM watchlist)) AS wanted
            FROM movie GROUP BY 1)
        SELECT coalesce(counted.genre, genre_stats.genre),
               coalesce(counted.movies, 0), coalesce(genre_stats.movies, 0),
               coalesce(counted.wanted, 0), coalesce(genre_stats.wanted, 0)
        FROM counted FULL JOIN genre_stats ON genre_stats.genre = counted.genre";
    let rows: Vec<(String, i64, i64, i64, i64)> = sqlx::query_as(select).fetch_all(pool).await?;
    let wrong =
        rows.into_iter().filter(|(_, movies, counted, wanted, asked)| movies != counted || wanted != asked);
    Ok(wrong
        .map(|(genre, movies, counted, wanted, asked)| {
            format!("genre {genre}: {movies} movies, counted {counted}; {wanted} wanted, counted {asked}")
        })
        .collect())
}
