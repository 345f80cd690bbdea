//! The movies example, run as a program: what a reader would try, and what would go wrong.

#[path = "support/example.rs"]
mod example;

use std::path::PathBuf;
use std::process::{Output, Stdio};
use std::sync::OnceLock;
use std::time::Duration;

use sqlx::{Connection, SqliteConnection};
use tempfile::TempDir;

/// How long one run of the program may take on a busy machine.
const LIMIT: Duration = Duration::from_secs(300);

/// The program with a data folder of its own.
struct Movies {
    folder: TempDir,
}

/// What a run printed, and whether it succeeded.
struct Ran {
    ok: bool,
    text: String,
}

impl Movies {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// A folder with the first movies in it.
    async fn with_movies(count: usize) -> Self {
        let movies = Self::new();
        movies.succeeds(&["import", "--limit", &count.to_string()]).await;
        movies
    }

    async fn run(&self, arguments: &[&str]) -> Ran {
        let mut command = tokio::process::Command::new(program());
        command.arg("--data").arg(self.folder.path()).args(arguments).stdin(Stdio::null()).kill_on_drop(true);
        let finished = tokio::time::timeout(LIMIT, command.output()).await;
        let Output { status, stdout, stderr } =
            finished.unwrap_or_else(|_| panic!("{arguments:?} ran for more than {LIMIT:?}")).unwrap();
        let text = format!("{}{}", String::from_utf8_lossy(&stdout), String::from_utf8_lossy(&stderr));
        Ran { ok: status.success(), text }
    }

    async fn succeeds(&self, arguments: &[&str]) -> String {
        let Ran { ok, text } = self.run(arguments).await;
        assert!(ok, "{arguments:?} failed:\n{text}");
        text
    }

    async fn fails(&self, arguments: &[&str]) -> String {
        let Ran { ok, text } = self.run(arguments).await;
        assert!(!ok, "{arguments:?} succeeded:\n{text}");
        text
    }

    /// A number out of the database.
    async fn count(&self, select: &str) -> i64 {
        let url = format!("sqlite://{}", self.folder.path().join("movies.db").display());
        let mut connection = SqliteConnection::connect(&url).await.unwrap();
        let count =
            sqlx::query_scalar(sqlx::AssertSqlSafe(select.to_owned())).fetch_one(&mut connection).await;
        connection.close().await.unwrap();
        count.unwrap_or_else(|error| panic!("{select}: {error}"))
    }

    async fn events(&self, event_type: &str) -> i64 {
        self.count(&format!("SELECT count(*) FROM event_queue WHERE event_type = '{event_type}'")).await
    }

    async fn unfinished(&self) -> i64 {
        self.count("SELECT count(*) FROM event_queue WHERE status <> 'done'").await
    }

    fn poster(&self, movie: &str) -> PathBuf {
        self.folder.path().join("posters").join(format!("{movie}.svg"))
    }
}

/// The example, built as a program: `cargo test` builds it only with the tests of its handlers.
fn program() -> &'static PathBuf {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| example::program("movies"))
}

#[tokio::test]
async fn all_movies_arrive_with_index_rows_posters_and_counts() {
    let movies = Movies::new();
    let text = movies.succeeds(&[]).await;
    assert!(text.contains("movies 3201 = index rows 3201 = posters 3201"), "{text}");
    assert_eq!(movies.unfinished().await, 0);
    assert_eq!(movies.events("movie.added").await, 3201);
    assert_eq!(movies.events("poster.synced").await, 3201);
    assert_eq!(movies.count("SELECT sum(movies) FROM genre_stats").await, 3201);
    assert_eq!(movies.count("SELECT count(*) FROM movie WHERE poster = id || '.svg'").await, 3201);

    // Messy titles are kept: numbers as text, the missing one missing, equal ones apart.
    assert_eq!(movies.count("SELECT count(*) FROM movie WHERE title = '300'").await, 1);
    assert_eq!(movies.count("SELECT count(*) FROM movie WHERE title = 'Hamlet'").await, 2);
    assert_eq!(movies.count("SELECT count(*) FROM movie WHERE title IS NULL").await, 1);
    assert!(movies.succeeds(&["search", "300"]).await.contains("300-2007"));
    let untitled = std::fs::read_to_string(movies.poster("untitled-2006")).unwrap();
    assert!(untitled.contains("(untitled)"), "{untitled}");

    let status = movies.succeeds(&["status"]).await;
    assert!(status.contains("movie.added") && status.contains("3201"), "{status}");
}

#[tokio::test]
async fn importing_again_adds_nothing() {
    let movies = Movies::with_movies(40).await;
    let text = movies.succeeds(&["import", "--limit", "60"]).await;
    assert!(text.contains("imported  20 movies") && text.contains("40 were there already"), "{text}");
    assert_eq!(movies.events("movie.added").await, 60);
    let text = movies.succeeds(&["import", "--limit", "60"]).await;
    assert!(text.contains("imported  0 movies"), "{text}");
    assert_eq!(movies.events("movie.added").await, 60);
    assert_eq!(movies.count("SELECT sum(movies) FROM genre_stats").await, 60);
}

#[tokio::test]
async fn after_a_crash_a_second_run_reaches_the_same_end() {
    let movies = Movies::new();
    let text = movies.fails(&["import", "--limit", "300", "--crash-after", "150"]).await;
    assert!(text.contains("aborting after 150 handler runs"), "{text}");
    assert!(movies.unfinished().await > 0, "the crash left nothing to do");
    let text = movies.succeeds(&["import", "--limit", "300"]).await;
    assert!(text.contains("movies 300 = index rows 300 = posters 300"), "{text}");
    assert_eq!(movies.unfinished().await, 0);
    assert_eq!(movies.events("poster.synced").await, 300);
    assert_eq!(movies.count("SELECT count(*) FROM processed_events WHERE status <> 'done'").await, 0);
    let leftovers = std::fs::read_dir(movies.folder.path().join("posters")).unwrap().count();
    assert_eq!(leftovers, 300, "half-written posters are swept");
}

#[tokio::test]
async fn a_movies_last_review_takes_the_movie_along() {
    let movies = Movies::with_movies(20).await;
    let movie = "12-angry-men-1957";
    movies.succeeds(&["watchlist", "add", movie]).await;
    assert!(movies.succeeds(&["review", "log", movie, "--stars", "4", "good"]).await.contains("review 1"));
    movies.succeeds(&["review", "log", movie, "--stars", "2"]).await;
    assert!(movies.succeeds(&["search", "angry men"]).await.contains("3.0 stars of 2 reviews"));
    movies.succeeds(&["review", "edit", "2", "--stars", "5"]).await;
    assert!(movies.succeeds(&["search", "angry men"]).await.contains("4.5 stars of 2 reviews"));

    movies.succeeds(&["review", "delete", "1"]).await;
    assert_eq!(movies.events("movie.deleted").await, 0);
    assert!(movies.poster(movie).exists());
    movies.succeeds(&["review", "delete", "2"]).await;
    assert_eq!(movies.events("review.deleted").await, 2);
    assert_eq!(movies.events("movie.deleted").await, 1);
    assert!(!movies.poster(movie).exists());
    assert!(movies.succeeds(&["search", "angry men"]).await.contains("no movie found"));
    assert_eq!(movies.count("SELECT sum(wanted) FROM genre_stats").await, 0);
    assert_eq!(movies.unfinished().await, 0);

    // Imported again, it is a new movie with a new event.
    let text = movies.succeeds(&["import", "--limit", "20"]).await;
    assert!(text.contains("movies 20 = index rows 20 = posters 20"), "{text}");
    assert_eq!(movies.events("movie.added").await, 21);
}

#[tokio::test]
async fn only_a_change_of_the_watchlist_is_an_event() {
    let movies = Movies::with_movies(5).await;
    let movie = "the-land-girls-1998";
    assert!(movies.succeeds(&["watchlist", "add", movie]).await.contains("is on the watchlist now"));
    assert!(movies.succeeds(&["watchlist", "add", movie]).await.contains("was on the watchlist already"));
    assert_eq!(movies.events("watchlist.changed").await, 1);
    assert_eq!(movies.count("SELECT sum(wanted) FROM genre_stats").await, 1);
    movies.succeeds(&["watchlist", "remove", movie]).await;
    movies.succeeds(&["watchlist", "remove", movie]).await;
    assert_eq!(movies.events("watchlist.changed").await, 2);
    assert_eq!(movies.count("SELECT sum(wanted) FROM genre_stats").await, 0);
}

#[tokio::test]
async fn search_takes_any_words() {
    let movies = Movies::with_movies(60).await;
    for words in [
        "\"",
        "AND",
        "NOT x",
        "title:girls",
        "girls*",
        "(girls",
        "a\"b",
        "^girls",
        "girls -- x",
        "日本",
        "NEAR(a b, 2)",
    ] {
        let Ran { ok, text } = movies.run(&["search", words]).await;
        assert!(ok || text.contains("nothing to search for"), "{words}: {text}");
    }
    assert!(movies.succeeds(&["search", "LAND", "gírls"]).await.contains("the-land-girls-1998"));
    assert!(movies.succeeds(&["search", "land", "nowhere"]).await.contains("no movie found"));
    assert!(movies.fails(&["search", "*"]).await.contains("nothing to search for"));
}

#[tokio::test]
async fn wrong_input_is_named_and_changes_nothing() {
    let movies = Movies::with_movies(5).await;
    let wrong: [(&[&str], &str); 6] = [
        (&["review", "log", "nowhere", "--stars", "3"], "no movie `nowhere`"),
        (&["review", "log", "the-land-girls-1998", "--stars", "6"], "6 is not in 1..=5"),
        (&["review", "edit", "9", "--stars", "3"], "no review 9"),
        (&["review", "delete", "9"], "no review 9"),
        (&["watchlist", "add", "nowhere"], "no movie `nowhere`"),
        (&["--crash-after", "0"], "0 is not in 1.."),
    ];
    for (arguments, named) in wrong {
        let text = movies.fails(arguments).await;
        assert!(text.contains(named), "{arguments:?}: {text}");
    }
    assert_eq!(movies.count("SELECT count(*) FROM event_queue").await, 10);
}

#[tokio::test]
async fn a_file_that_is_no_database_is_refused_and_left_alone() {
    let movies = Movies::new();
    let path = movies.folder.path().join("movies.db");
    let text = "not a database, but somebody's notes. ".repeat(100);
    std::fs::write(&path, &text).unwrap();
    let said = movies.fails(&["status"]).await;
    assert!(said.contains("movies.db"), "{said}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), text);
}
