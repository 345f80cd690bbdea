//! `search WORDS`: the full-text index that the handlers keep.

use anyhow::{Result, bail};
use sqlx::{FromRow, SqlitePool};

use crate::catalogue::{shown_genre, shown_title};

/// Most movies that are shown.
const SHOWN: u32 = 20;

#[derive(FromRow)]
struct Hit {
    id: String,
    title: Option<String>,
    release_date: Option<String>,
    genre: Option<String>,
    reviews: i64,
    stars: Option<f64>,
}

/// Prints the movies whose title, director or genre holds all the words, best match first.
pub(crate) async fn run(pool: &SqlitePool, words: &[String]) -> Result<()> {
    let Some(query) = query(words) else {
        bail!("nothing to search for: give a word with a letter or a digit");
    };
    let select = "SELECT id, movie.title, release_date, movie.genre, reviews, stars
                  FROM movie_search JOIN movie ON movie.number = movie_search.rowid
                  WHERE movie_search MATCH ? ORDER BY rank, release_date LIMIT ?";
    let hits: Vec<Hit> = sqlx::query_as(select).bind(query).bind(SHOWN).fetch_all(pool).await?;
    if hits.is_empty() {
        println!("no movie found");
    }
    for hit in &hits {
        println!("{}", line(hit));
    }
    Ok(())
}

fn line(hit: &Hit) -> String {
    let date = hit.release_date.as_deref().unwrap_or("no date");
    let title = shown_title(hit.title.as_deref());
    let genre = shown_genre(hit.genre.as_deref());
    let stars =
        hit.stars.map_or(String::new(), |stars| format!(", {stars:.1} stars of {} reviews", hit.reviews));
    format!("{:40} {title} ({date}, {genre}{stars})", hit.id)
}

/// The words in the syntax of FTS5, each as a quoted phrase, so that no word is taken for an operator.
///
/// Words without a letter or a digit are left out: to FTS5 they are empty phrases.
fn query(words: &[String]) -> Option<String> {
    let words = words.iter().flat_map(|word| word.split_whitespace());
    let phrases: Vec<String> = words
        .filter(|word| word.chars().any(char::is_alphanumeric))
        .map(|word| format!("\"{}\"", word.replace('"', "\"\"")))
        .collect();
    (!phrases.is_empty()).then(|| phrases.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query_of(words: &[&str]) -> Option<String> {
        query(&words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn operators_and_quotes_are_plain_words() {
        assert_eq!(query_of(&["a OR b"]).as_deref(), Some(r#""a" "OR" "b""#));
        assert_eq!(query_of(&["he said \"no\"", "*"]).as_deref(), Some(r#""he" "said" """no""""#));
        assert_eq!(query_of(&["title:", "NEAR(x"]).as_deref(), Some(r#""title:" "NEAR(x""#));
    }

    #[test]
    fn nothing_but_signs_is_no_query() {
        assert_eq!(query_of(&["*", "\"", "--", " "]), None);
        assert_eq!(query_of(&[]), None);
    }
}
