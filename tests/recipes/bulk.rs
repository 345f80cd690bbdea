//! Tens of thousands at once: more than SQLite takes as parameters of one statement, and more than may be changed in one
//! go while others want to write. (That one transaction takes as many events is shown beside the store's own tests.)

use std::time::{Duration, Instant};

use outbox::prelude::*;
use outbox::{DeadLetterFilter, Retention};
use sqlx::{Connection, Executor};

use crate::support::database::{Database, connect};

/// More than twice the most parameters of a statement that the bundled SQLite takes.
const MANY: i64 = 70_000;

/// What another writer may have to wait.
const LONGEST_WAIT: Duration = Duration::from_secs(1);

/// Somebody else who writes all the time, on a thread of their own, and remembers the longest wait.
struct OtherWriter {
    stop: CancellationToken,
    thread: std::thread::JoinHandle<(u32, Duration)>,
}

impl OtherWriter {
    async fn start(database: &Database) -> Self {
        database.run("CREATE TABLE IF NOT EXISTS other (written INTEGER)").await;
        let (file, stop) = (database.file(), CancellationToken::new());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let stopped = stop.clone();
        let write = async move {
            let mut connection = connect(&file).await;
            let (mut written, mut longest) = (0, Duration::ZERO);
            while !stopped.is_cancelled() {
                let started = Instant::now();
                let mut tx = connection.begin_with("BEGIN IMMEDIATE").await.expect("the lock, in time");
                tx.execute("INSERT INTO other VALUES (1)").await.expect("a row can be written");
                tx.commit().await.expect("a transaction commits");
                longest = longest.max(started.elapsed());
                written += 1;
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
            (written, longest)
        };
        Self { stop, thread: std::thread::spawn(move || runtime.block_on(write)) }
    }

    /// Returns how often it has written, and the longest wait.
    fn stop(self) -> (u32, Duration) {
        self.stop.cancel();
        self.thread.join().expect("the other writer does not fail")
    }
}

/// Gives the first 70,000 ids to a statement that makes rows of them.
async fn fill(database: &Database, status: &str, claim: &str) {
    let long_ago = 1_000_000_000_000_i64;
    database
        .run(&format!(
            "WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {MANY})
             INSERT INTO event_queue (event_id, event_type, payload, status, finished_at, last_error)
             SELECT printf('00000000-0000-4000-8000-%012x', n), 'test.bulk', '1', '{status}', {long_ago}, 'as planned'
             FROM n;
             INSERT INTO processed_events
                (event_id, handler, status, started_at, processed_at, attempts, last_error)
             SELECT event_id, 'bulk', '{claim}', {long_ago}, {long_ago}, 1, 'as planned' FROM event_queue"
        ))
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn retrying_all_dead_letters_is_exact_and_lets_others_write() {
    let database = Database::new().await;
    fill(&database, "dead_lettered", "dead").await;
    let other = OtherWriter::start(&database).await;
    let retried = database.store.admin().retry(&DeadLetterFilter::default()).await.unwrap();
    let (written, longest) = other.stop();
    assert_eq!(retried, MANY as u64);
    assert_eq!(database.events("pending").await, MANY);
    let due = "SELECT count(*) FROM processed_events WHERE status = 'released' AND attempts = 0";
    assert_eq!(database.number(due).await, MANY);
    assert!(longest < LONGEST_WAIT, "another writer waited {longest:?}, and wrote {written} times");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn discarding_all_dead_letters_is_exact_and_lets_others_write() {
    let database = Database::new().await;
    fill(&database, "dead_lettered", "dead").await;
    let other = OtherWriter::start(&database).await;
    let discarded = database.store.admin().discard(&DeadLetterFilter::default()).await.unwrap();
    let (written, longest) = other.stop();
    assert_eq!(discarded, MANY as u64);
    assert_eq!(database.number("SELECT count(*) FROM event_queue").await, 0);
    assert_eq!(database.number("SELECT count(*) FROM processed_events WHERE status = 'dead'").await, 0);
    assert!(longest < LONGEST_WAIT, "another writer waited {longest:?}, and wrote {written} times");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn pruning_all_that_is_done_is_exact_and_lets_others_write() {
    let database = Database::new().await;
    fill(&database, "done", "done").await;
    // These stay, however old: not finished, or dead for less than the ninety days.
    database
        .run(
            "INSERT INTO event_queue (event_type, payload, status, finished_at, event_id) VALUES
                ('test.bulk', '1', 'pending', NULL, 'a'), ('test.bulk', '1', 'processing', NULL, 'b'),
                ('test.bulk', '1', 'dead_lettered', unixepoch() * 1000, 'c');
             INSERT INTO processed_events (event_id, handler, status, started_at, processed_at) VALUES
                ('a', 'bulk', 'released', 0, NULL), ('a', 'bulk2', 'done', 0, 0), ('b', 'bulk', 'in_progress', 0, NULL),
                ('c', 'bulk', 'dead', 0, 0)",
        )
        .await;
    let other = OtherWriter::start(&database).await;
    let pruned = database.store.admin().prune(&Retention::default()).await.unwrap();
    let (written, longest) = other.stop();
    assert_eq!((pruned.events, pruned.claims), (MANY as u64, MANY as u64));
    assert_eq!(database.number("SELECT count(*) FROM event_queue").await, 3);
    assert_eq!(database.number("SELECT count(*) FROM processed_events").await, 4);
    assert!(longest < LONGEST_WAIT, "another writer waited {longest:?}, and wrote {written} times");
}
