//! `cargo xtask movies-data FILE`: makes `examples/data/movies.jsonl` from the movies table of vega-datasets.
//!
//! The form changes and the titles do not: a numeric title becomes text, a missing one stays null, a damaged one stays
//! damaged, because an application that reads other people's data has to live with all three. The one repair is the
//! century of a release date (see [`release_date`]), without which sorting and display would be nonsense.

use std::collections::HashSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

/// The source was compiled in 2010, with a few releases announced for 2011. A later date is a two-digit year that was
/// expanded to the wrong century: "Gone with the Wind" is dated 2039 there.
const LAST_PLAUSIBLE_YEAR: i16 = 2011;

/// One row of the source; the figures about money and votes are left out.
#[derive(Deserialize)]
struct Source {
    #[serde(rename = "Title")]
    title: Value,
    #[serde(rename = "Release Date")]
    release_date: Option<String>,
    #[serde(rename = "Director")]
    director: Option<String>,
    #[serde(rename = "Major Genre")]
    genre: Option<String>,
    #[serde(rename = "IMDB Rating")]
    rating: Option<Number>,
}

/// One line of `movies.jsonl`.
#[derive(Serialize)]
struct Movie {
    id: String,
    title: Option<String>,
    release_date: Option<Date>,
    director: Option<String>,
    genre: Option<String>,
    rating: Option<Number>,
}

/// Converts `source` and writes the lines to `target`; returns a summary for the terminal.
///
/// # Errors
///
/// When a file cannot be read or written, or a row has another shape than the one described in `examples/data/README.md`.
pub(crate) fn convert(source: &Path, target: &Path) -> Result<String> {
    let text = fs::read_to_string(source).with_context(|| format!("cannot read {}", source.display()))?;
    let rows: Vec<Source> = serde_json::from_str(&text)
        .with_context(|| format!("{} is not the movies table", source.display()))?;
    let mut ids = HashSet::new();
    let mut lines = String::new();
    let mut undated = 0;
    for (number, row) in rows.iter().enumerate() {
        let movie = movie(row, &mut ids).with_context(|| format!("row {}", number + 1))?;
        undated += usize::from(movie.release_date.is_none());
        lines += &serde_json::to_string(&movie)?;
        lines.push('\n');
    }
    fs::write(target, lines).with_context(|| format!("cannot write {}", target.display()))?;
    Ok(format!("{}: {} movies, {undated} without a usable release date", target.display(), rows.len()))
}

fn movie(row: &Source, ids: &mut HashSet<String>) -> Result<Movie> {
    let title = title(&row.title)?;
    let release_date = row.release_date.as_deref().and_then(release_date);
    Ok(Movie {
        id: unique_id(title.as_deref(), release_date, ids),
        title,
        release_date,
        director: row.director.clone(),
        genre: row.genre.clone(),
        rating: row.rating.clone(),
    })
}

/// The title as text: `300` is the film "300".
fn title(value: &Value) -> Result<Option<String>> {
    match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.clone())),
        Value::Number(number) => Ok(Some(number.to_string())),
        other => bail!("a title that is neither text nor a number: {other}"),
    }
}

/// The calendar date of a text such as `Jun 12 1998`, in the right century; none where the text is no date.
fn release_date(text: &str) -> Option<Date> {
    let date = Date::strptime("%b %d %Y", text).ok()?;
    if date.year() <= LAST_PLAUSIBLE_YEAR {
        return Some(date);
    }
    Date::new(date.year() - 100, date.month(), date.day()).ok()
}

/// An id that a person can type: the title's ASCII letters and digits, the year, and a number where that is taken.
///
/// Rows are visited in the source's order, so the same source gives the same ids.
fn unique_id(title: Option<&str>, date: Option<Date>, taken: &mut HashSet<String>) -> String {
    let slug = slug(title.unwrap_or("untitled"));
    let stem = match date {
        Some(date) => format!("{slug}-{}", date.year()),
        None => slug,
    };
    let mut id = stem.clone();
    let mut copy = 2;
    while !taken.insert(id.clone()) {
        id = format!("{stem}-{copy}");
        copy += 1;
    }
    id
}

fn slug(title: &str) -> String {
    let plain = title.to_ascii_lowercase().replace('\'', "");
    let words = plain.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    let slug = words.collect::<Vec<_>>().join("-");
    if slug.is_empty() { "movie".to_owned() } else { slug }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn date(text: &str) -> Option<String> {
        release_date(text).map(|date| date.to_string())
    }

    #[test]
    fn a_numeric_title_becomes_text_and_a_missing_one_stays_missing() {
        assert_eq!(title(&Value::from(300)).unwrap().as_deref(), Some("300"));
        assert_eq!(title(&Value::from("1941")).unwrap().as_deref(), Some("1941"));
        assert_eq!(title(&Value::Null).unwrap(), None);
        assert!(title(&Value::from(true)).is_err());
    }

    #[test]
    fn a_date_beyond_the_source_belongs_to_the_century_before() {
        assert_eq!(date("Jun 12 1998").as_deref(), Some("1998-06-12"));
        assert_eq!(date("Dec 15 2039").as_deref(), Some("1939-12-15"));
        assert_eq!(date("Dec 23 2011").as_deref(), Some("2011-12-23"));
        assert_eq!(date("Feb 30 1998"), None);
        assert_eq!(date("1998"), None);
    }

    #[test]
    fn equal_titles_get_different_ids() {
        let mut ids = HashSet::new();
        let year = release_date("Dec 25 1996");
        assert_eq!(unique_id(Some("Hamlet"), year, &mut ids), "hamlet-1996");
        assert_eq!(unique_id(Some("Hamlet"), year, &mut ids), "hamlet-1996-2");
        assert_eq!(unique_id(None, None, &mut ids), "untitled");
        assert_eq!(unique_id(Some("Let's Talk"), None, &mut ids), "lets-talk");
        assert_eq!(unique_id(Some("‰"), None, &mut ids), "movie");
    }
}
