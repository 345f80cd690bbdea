//! Processes that die at random moments, again and again: at the end nothing is lost, nothing is done twice that must not
//! be, and nothing is left lying. `OUTBOX_TEST_SEED` repeats a run's choice of moments.

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use outbox::{NewEvent, enqueue_events};
use sqlx::{AssertSqlSafe, Connection};
use tempfile::TempDir;

use self::support::chance::Chance;
use self::support::child::Plan;
use self::support::database::{Database, connect};
use self::support::example::program;
use self::support::handlers::{COUNT_TABLES, Count, Does, Job};
use self::support::process::Process;

/// How often the program is killed.
const KILLS: u32 = 50;

/// How many movies there are.
const MOVIES: i64 = 3_201;

#[tokio::test]
async fn an_import_that_is_killed_fifty_times_ends_as_if_nothing_had_happened() {
    let program = program("movies");
    let mut chance = Chance::new();
    let mut killed = 0;
    while killed < KILLS {
        // A database whose import got through is checked, and another begun.
        let movies = Movies::new(&program);
        while killed < KILLS && movies.crashes(&mut chance) {
            killed += 1;
        }
        let text = movies.run_to_the_end();
        check(&movies.database(), &text).await;
    }
}

/// The movies example, which keeps everything in one folder.
struct Movies {
    program: PathBuf,
    folder: TempDir,
}

impl Movies {
    fn new(program: &Path) -> Self {
        Self { program: program.to_owned(), folder: tempfile::tempdir().unwrap() }
    }

    fn start(&self) -> Process {
        let mut movies = Command::new(&self.program);
        movies.arg("--data").arg(self.folder.path().join("data"));
        Process::run(movies, self.folder.path())
    }

    /// Starts the import and kills it at some moment; false if it came to its end before.
    fn crashes(&self, chance: &mut Chance) -> bool {
        let mut movies = self.start();
        std::thread::sleep(chance.time_up_to(Duration::from_millis(1_500)));
        let killed = movies.is_running();
        movies.kill();
        killed
    }

    /// Starts the import and lets it finish: the leases of what was killed are 5 s.
    fn run_to_the_end(&self) -> String {
        let mut movies = self.start();
        let status = movies.ends_within(Duration::from_secs(120));
        assert!(status.success(), "{status}\n{}", movies.printed());
        movies.printed()
    }

    fn database(&self) -> PathBuf {
        self.folder.path().join("data/movies.db")
    }
}

async fn check(file: &Path, text: &str) {
    let mut database = connect(file).await;
    for (what, expected, query) in [
        ("movies", MOVIES, "SELECT count(*) FROM movie"),
        ("events", 2 * MOVIES, "SELECT count(*) FROM event_queue"),
        (
            "events that told of a movie",
            MOVIES,
            "SELECT count(*) FROM event_queue WHERE event_type = 'movie.added'",
        ),
        ("events that are not done", 0, "SELECT count(*) FROM event_queue WHERE status <> 'done'"),
        ("handlers' marks", 4 * MOVIES, "SELECT count(*) FROM processed_events WHERE status = 'done'"),
        ("claims that are left", 0, "SELECT count(*) FROM processed_events WHERE status <> 'done'"),
        ("increments of a counter", MOVIES, "SELECT sum(movies) FROM genre_stats"),
        ("rows of the index", MOVIES, "SELECT count(*) FROM movie_search"),
        ("links to posters", MOVIES, "SELECT count(*) FROM movie WHERE poster = id || '.svg'"),
        ("damage", 0, "SELECT count(*) FROM pragma_integrity_check WHERE integrity_check <> 'ok'"),
    ] {
        let found: i64 =
            sqlx::query_scalar(AssertSqlSafe(query)).fetch_one(&mut database).await.expect(query);
        assert_eq!(found, expected, "{what}\n{text}");
    }
    // Killed as it was, it was in the midst of something.
    let again = "SELECT count(*) FROM processed_events WHERE attempts > 1";
    let again: i64 = sqlx::query_scalar(again).fetch_one(&mut database).await.unwrap();
    assert!(again > 0, "no kill met a handler");
    database.close().await.unwrap();
}

#[tokio::test]
async fn of_two_workers_one_dies_again_and_again_and_every_effect_is_there_once() {
    const EVENTS: i64 = 400;
    let mut chance = Chance::new();
    let database = Database::new().await;
    database.run(COUNT_TABLES).await;
    let plan = Plan {
        concurrency: 8,
        lease_ms: 500,
        max_attempts: 1_000,
        busy_timeout_ms: 200,
        ..Plan::new(database.file(), database.journal())
    };
    let mut workers = [Process::worker(&plan), Process::worker(&plan)];
    let mut enqueued = 0;
    for _ in 0..KILLS {
        let mut tx = database.store.pool().begin_with("BEGIN IMMEDIATE").await.unwrap();
        let more = EVENTS / i64::from(KILLS);
        let counts = (0..more).map(|_| NewEvent::new(&Count { does: Does::Sleep(5) }).unwrap());
        let jobs = (0..more).map(|_| NewEvent::new(&Job { does: Does::Sleep(20) }).unwrap());
        enqueue_events(&mut tx, counts.chain(jobs)).await.unwrap();
        tx.commit().await.unwrap();
        enqueued += more;
        tokio::time::sleep(chance.time_up_to(Duration::from_millis(400))).await;
        let victim = &mut workers[chance.below(2) as usize];
        victim.kill();
        *victim = Process::start(&plan, &[]);
    }
    database.until_done(Duration::from_secs(60), 2 * enqueued).await;
    assert_eq!(database.number("SELECT value FROM counter").await, enqueued);
    assert_eq!(database.number("SELECT count(DISTINCT event_id) FROM effect").await, enqueued);
    assert_eq!(database.number("SELECT count(*) FROM effect").await, enqueued);
    assert!(database.number("SELECT max(attempts) FROM processed_events").await > 1, "no kill met a handler");
}
