//! The movies to import: `examples/data/movies.jsonl`, built into the program.

use anyhow::{Context, Result};
use serde::Deserialize;

/// What stands for the title of a movie that has none.
const UNTITLED: &str = "(untitled)";

/// What stands for the genre of a movie that has none.
const NO_GENRE: &str = "(none)";

/// One line of the data.
#[derive(Deserialize)]
pub(crate) struct Movie {
    pub(crate) id: String,
    pub(crate) title: Option<String>,
    pub(crate) release_date: Option<String>,
    pub(crate) director: Option<String>,
    pub(crate) genre: Option<String>,
    pub(crate) rating: Option<f64>,
}

/// Every movie, in the order of the data.
pub(crate) fn movies() -> Result<Vec<Movie>> {
    let lines = include_str!("../data/movies.jsonl").lines();
    lines.map(|line| serde_json::from_str(line).with_context(|| format!("not a movie: {line}"))).collect()
}

/// The title as it is shown.
pub(crate) fn shown_title(title: Option<&str>) -> &str {
    title.unwrap_or(UNTITLED)
}

/// The genre as it is counted and shown.
pub(crate) fn shown_genre(genre: Option<&str>) -> &str {
    genre.unwrap_or(NO_GENRE)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn messy_titles_arrive_as_they_are() {
        let movies = movies().unwrap();
        let titled =
            |title: &str| movies.iter().filter(|movie| movie.title.as_deref() == Some(title)).count();
        assert_eq!(movies.len(), 3201);
        assert_eq!(titled("300"), 1);
        assert_eq!(titled("1941"), 1);
        assert_eq!(titled("Hamlet"), 2);
        assert_eq!(movies.iter().filter(|movie| movie.title.is_none()).count(), 1);
    }

    #[test]
    fn ids_are_unique_and_fit_for_file_names() {
        let movies = movies().unwrap();
        let ids: HashSet<&str> = movies.iter().map(|movie| movie.id.as_str()).collect();
        assert_eq!(ids.len(), movies.len());
        let plain = |id: &&str| id.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-');
        assert!(ids.iter().all(plain));
    }
}
