//! What a poster looks like: an SVG picture in a colour of the genre, with the title in a few lines.

use sqlx::FromRow;

use crate::catalogue::{shown_genre, shown_title};

/// Letters that fit into one line of the title.
const LINE_LETTERS: usize = 16;

/// What a poster shows of a movie.
#[derive(FromRow)]
pub(crate) struct Movie {
    id: String,
    title: Option<String>,
    release_date: Option<String>,
    director: Option<String>,
    genre: Option<String>,
}

/// The picture as text; the same movie always gives the same picture.
pub(crate) fn poster(movie: &Movie) -> String {
    let genre = shown_genre(movie.genre.as_deref());
    let title = lines(shown_title(movie.title.as_deref()));
    let spans: String =
        title.iter().map(|line| format!(r#"<tspan x="20" dy="32">{}</tspan>"#, escaped(line))).collect();
    let year = movie.release_date.as_deref().and_then(|date| date.get(..4)).unwrap_or("");
    let hue = hash(genre.as_bytes()) % 360;
    let tilt = hash(movie.id.as_bytes()) % 90;
    format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="300" height="450" viewBox="0 0 300 450">
<rect width="300" height="450" fill="hsl({hue} 45% 22%)"/>
<rect x="60" y="230" width="180" height="180" fill="hsl({hue} 55% 38%)" transform="rotate({tilt} 150 320)"/>
<g fill="white" font-family="sans-serif">
<text x="20" y="40" font-size="28" font-weight="bold">{spans}</text>
<text x="20" y="430" font-size="14">{}</text>
<text x="280" y="430" font-size="14" text-anchor="end">{year}</text>
</g>
</svg>
"#,
        escaped(movie.director.as_deref().unwrap_or(genre)),
    )
}

/// The title broken between words into lines of at most [`LINE_LETTERS`], but for words that are longer.
fn lines(title: &str) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in title.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= LINE_LETTERS => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// The text as XML character data.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// FNV-1a, which stays the same over versions and machines.
fn hash(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn movie(title: Option<&str>) -> Movie {
        Movie {
            id: "m".to_owned(),
            title: title.map(str::to_owned),
            release_date: Some("1999-03-31".to_owned()),
            director: None,
            genre: Some("Drama".to_owned()),
        }
    }

    #[test]
    fn a_title_cannot_break_the_picture() {
        let picture = poster(&movie(Some("Fast & <Furious>")));
        assert!(picture.contains("Fast &amp;") && picture.contains("&lt;Furious&gt;"), "{picture}");
    }

    #[test]
    fn a_movie_without_a_title_has_a_poster_too() {
        assert!(poster(&movie(None)).contains("(untitled)"));
    }

    #[test]
    fn titles_are_broken_between_words() {
        assert_eq!(lines("Gone with the Wind"), ["Gone with the", "Wind"]);
        assert_eq!(lines("Supercalifragilistic  x"), ["Supercalifragilistic", "x"]);
    }
}
