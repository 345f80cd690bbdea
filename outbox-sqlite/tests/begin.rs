//! Transactions of the application that take their turn at the store's gate.

mod support;

use std::time::Duration;

use outbox_core::{
    CancellationToken, Enqueue, EnqueueError, Event, NewEvent, RuntimeHandler, StoreErrorKind, Worker,
    enqueue_events, event_handler,
};
use outbox_sqlite::{SqliteOptions, SqliteOutbox, SqliteTx};
use serde::{Deserialize, Serialize};
use sqlx::Connection;
use support::{Database, number};
use tokio::sync::mpsc;

/// What must happen, does so within that time.
const PATIENCE: Duration = Duration::from_secs(60);

async fn open(database: &Database) -> SqliteOutbox {
    open_with(database, SqliteOptions::default()).await
}

async fn open_with(database: &Database, options: SqliteOptions) -> SqliteOutbox {
    let store = SqliteOutbox::connect_with(&database.url(), options).await.unwrap();
    store.migrate().await.unwrap();
    sqlx::raw_sql("CREATE TABLE movie (title TEXT NOT NULL)").execute(store.pool()).await.unwrap();
    store
}

async fn add(tx: &mut SqliteTx<'_>, title: &str) {
    sqlx::query("INSERT INTO movie VALUES (?)").bind(title).execute(&mut **tx).await.unwrap();
}

/// Movies and events that are committed.
async fn counts(database: &Database) -> (i64, i64) {
    let mut connection = database.connect().await;
    let movies = number(&mut connection, "SELECT count(*) FROM movie").await;
    (movies, number(&mut connection, "SELECT count(*) FROM event_queue").await)
}

fn event() -> NewEvent {
    NewEvent::raw("movie.added", "{}")
}

#[tokio::test]
async fn data_and_events_are_committed_together() {
    let database = Database::new();
    let store = open(&database).await;
    let mut tx = store.begin().await.unwrap();
    add(&mut tx, "Heat").await;
    enqueue_events(&mut tx, [event(), event()]).await.unwrap();
    assert_eq!(counts(&database).await, (0, 0), "nobody sees them before the commit");
    tx.commit().await.unwrap();
    assert_eq!(counts(&database).await, (1, 2));
}

#[tokio::test]
async fn what_is_dropped_or_rolled_back_was_never_there_and_the_next_can_begin() {
    let database = Database::new();
    let store = open(&database).await;
    for round in 0..20 {
        let mut tx = store.begin().await.unwrap();
        add(&mut tx, "Heat").await;
        tx.enqueue_all(vec![event()]).await.unwrap();
        if round % 2 == 0 {
            tx.rollback().await.unwrap();
        } else {
            drop(tx);
        }
    }
    assert_eq!(counts(&database).await, (0, 0));
    let mut tx = store.begin().await.unwrap();
    add(&mut tx, "Heat").await;
    tx.commit().await.unwrap();
    // A write of the store's own, after one that was dropped.
    drop(store.begin().await.unwrap());
    store.enqueue_all(vec![event()]).await.unwrap();
    assert_eq!(counts(&database).await, (1, 1));
}

#[tokio::test]
async fn a_savepoint_is_committed_dropped_or_named_in_an_error() {
    let database = Database::new();
    let store = open(&database).await;
    let mut tx = store.begin().await.unwrap();
    add(&mut tx, "kept").await;
    let mut savepoint = Connection::begin(&mut *tx).await.unwrap();
    sqlx::query("INSERT INTO movie VALUES ('dropped')").execute(&mut *savepoint).await.unwrap();
    drop(savepoint);
    tx.commit().await.unwrap();
    assert_eq!(counts(&database).await, (1, 0));

    let mut tx = store.begin().await.unwrap();
    add(&mut tx, "lost").await;
    std::mem::forget(Connection::begin(&mut *tx).await.unwrap());
    let error = tx.commit().await.unwrap_err();
    assert_eq!(error.to_string(), "a savepoint of the transaction is open: commit or drop it first");
    assert_eq!(counts(&database).await, (1, 0));
    // Dropped with a savepoint open, it is undone as a whole.
    let mut tx = store.begin().await.unwrap();
    add(&mut tx, "lost").await;
    std::mem::forget(Connection::begin(&mut *tx).await.unwrap());
    drop(tx);
    store.begin().await.unwrap().commit().await.unwrap();
    assert_eq!(counts(&database).await, (1, 0));
}

/// A request that is cancelled drops its transaction wherever it is, also within a statement of minutes.
#[tokio::test]
async fn what_is_cut_off_makes_way_for_the_next_at_once() {
    const ENDLESS: &str =
        "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000000000)
        INSERT INTO movie SELECT i FROM n WHERE i = 1000000000";
    const MANY: &str = "WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50000)
        INSERT INTO movie SELECT i FROM n WHERE i % 1000 = 0";
    let database = Database::new();
    let store = open(&database).await;
    for _ in 0..3 {
        let mut tx = store.begin().await.unwrap();
        add(&mut tx, "lost").await;
        let endless = sqlx::query(ENDLESS).execute(&mut *tx);
        tokio::time::timeout(Duration::from_millis(50), endless).await.expect_err("it takes minutes");
        drop(tx);
        let mut tx = store.begin().await.unwrap();
        sqlx::query(MANY).execute(&mut *tx).await.unwrap();
        // Cut off while it ends, which it may have done by then.
        tokio::select! {
            biased;
            _ = tx.rollback() => {}
            () = std::future::ready(()) => {}
        }
    }
    let mut tx = store.begin().await.unwrap();
    sqlx::query(MANY).execute(&mut *tx).await.unwrap();
    tx.commit().await.unwrap();
    store.enqueue_all(vec![event()]).await.unwrap();
    assert_eq!(counts(&database).await, (50, 1));
}

/// Among the application's own, the order of asking is the order of writing.
#[tokio::test]
async fn turns_are_taken_in_the_order_of_asking() {
    let database = Database::new();
    let store = open(&database).await;
    let (told, mut order) = mpsc::unbounded_channel();
    let first = store.begin().await.unwrap();
    let mut waiting = Vec::new();
    for number in 1..=5 {
        let (store, told) = (store.clone(), told.clone());
        waiting.push(tokio::spawn(async move {
            let tx = store.begin().await.unwrap();
            told.send(number).unwrap();
            tx.commit().await.unwrap();
        }));
        // Until it waits.
        tokio::task::yield_now().await;
    }
    told.send(0).unwrap();
    first.commit().await.unwrap();
    for expected in 0..=5 {
        let number = tokio::time::timeout(PATIENCE, order.recv()).await.expect("its turn comes");
        assert_eq!(number, Some(expected));
    }
    for task in waiting {
        task.await.unwrap();
    }
}

/// Beside a worker that has thousands of events to finish, an application waits for what is being written, not for a moment
/// at which the lock happens to be free.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn beside_a_worker_that_drains_a_backlog_the_turn_comes_after_a_few_events() {
    const EVENTS: i64 = 8_000;
    const DONE: &str = "SELECT count(*) FROM event_queue WHERE status = 'done'";
    let database = Database::new();
    let store = open(&database).await;
    let mut connection = database.connect().await;
    store.enqueue_all((0..EVENTS).map(|n| NewEvent::raw("t", n.to_string())).collect()).await.unwrap();
    let handler = RuntimeHandler::new("h", "t", |_, _| async { Ok::<(), String>(()) });
    let worker = Worker::builder(store.bus(), store.ledger()).only_given_handlers().runtime_handler(handler);
    let worker = worker.build().unwrap();
    let shutdown = CancellationToken::new();
    let stop = shutdown.clone();
    let running = tokio::spawn(async move { worker.run(stop).await.unwrap() });

    let (mut turns, mut longest) = (0, 0);
    let drained = async {
        loop {
            let before = number(&mut connection, DONE).await;
            let mut tx = store.begin().await.unwrap();
            let at_begin = number(&mut tx, DONE).await;
            add(&mut tx, "Heat").await;
            tx.commit().await.unwrap();
            if at_begin == EVENTS {
                break;
            }
            turns += i32::from(at_begin > 0);
            longest = longest.max(at_begin - before);
        }
    };
    tokio::time::timeout(PATIENCE, drained).await.expect("the backlog is drained");
    shutdown.cancel();
    running.await.unwrap();
    assert!(turns > 3, "{turns} turns while events were being handled");
    // A batch of 64 or two, as the test of the gate shows. More than that passes only while the machine lets this thread
    // wait between its looks.
    assert!(longest <= EVENTS / 4, "a turn came only after {longest} of {EVENTS} events");
}

#[tokio::test]
async fn a_task_that_waits_for_itself_is_told_so() {
    let database = Database::new();
    let options = SqliteOptions { busy_timeout: Duration::from_millis(300), ..SqliteOptions::default() };
    let store = open_with(&database, options).await;
    let tx = store.begin().await.unwrap();
    let error = store.begin().await.unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Busy);
    assert!(error.to_string().contains("another transaction of this store is open"), "{error}");
    let error = store.enqueue_all(vec![event()]).await.unwrap_err();
    assert!(matches!(error, EnqueueError::InsideTransaction), "{error}");
    drop(tx);
    store.enqueue_all(vec![event()]).await.unwrap();
    store.begin().await.unwrap().commit().await.unwrap();
}

#[derive(Serialize, Deserialize, Event)]
#[event(type = "test.asked", crate = outbox_core)]
struct Asked;

/// Takes a transaction and asks the store for another.
#[event_handler(name = "asks_twice", crate = outbox_core, max_attempts = 1, idempotency(skip = "a tool of the tests"))]
async fn asks_twice(
    _: Asked,
    outbox_core::State(store): outbox_core::State<SqliteOutbox>,
    _tx: &mut SqliteTx<'_>,
) -> Result<(), outbox_core::StoreError> {
    store.begin().await?.commit().await
}

#[tokio::test]
async fn a_handler_with_a_transaction_is_told_at_once_that_it_has_one() {
    let database = Database::new();
    let store = open(&database).await;
    store.enqueue(&Asked).await.unwrap();
    let worker = Worker::builder(store.bus(), store.ledger()).only_given_handlers();
    let worker = worker.handlers([&asks_twice::HANDLER]).state(store.clone()).build().unwrap();
    let shutdown = CancellationToken::new();
    let stop = shutdown.clone();
    let running = tokio::spawn(async move { worker.run(stop).await.unwrap() });
    let mut connection = database.connect().await;
    let dead = "SELECT count(*) FROM processed_events WHERE status = 'dead'
                AND last_error LIKE '`store.begin()` within a handler''s transaction would wait%'";
    let told = async {
        while number(&mut connection, dead).await == 0 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, told).await.expect("the reason is in the ledger");
    shutdown.cancel();
    running.await.unwrap();
}
