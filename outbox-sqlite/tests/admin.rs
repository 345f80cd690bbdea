//! Administration of large tables: exact counts, by index, in steps that keep nobody waiting.

mod support;

use std::time::Duration;

use outbox_core::{
    Admin, DeadLetterFilter, Enqueued, EventState, NewEvent, Pruned, Retention, WaitReason, Waiting,
    enqueue_events,
};
use outbox_sqlite::SqliteOutbox;
use sqlx::{AssertSqlSafe, Row, SqliteConnection};
use support::other_writer::OtherWriter;
use support::{Database, number, run, texts};

const A_SECOND: Duration = Duration::from_secs(1);

/// Rows of a large table: 20,000, or as many as the variable says. With 300,000 the same takes minutes.
fn many() -> i64 {
    std::env::var("OUTBOX_TEST_ROWS").map_or(20_000, |rows| rows.parse().expect("a number of rows"))
}

/// As many dead letters as told: each event has a handler that gave up and one that is done.
async fn dead_letters(connection: &mut SqliteConnection, rows: i64) {
    let script = format!(
        "DELETE FROM event_queue; DELETE FROM processed_events;
        INSERT OR IGNORE INTO outbox_handlers VALUES ('t', 'dead', 1, 1), ('t', 'done', 1, 1);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {rows})
        INSERT INTO event_queue (event_id, event_type, payload, status, finished_at, last_error)
        SELECT printf('67e55044-10b1-426f-9247-%012x', i), 't', '{{}}', 'dead_lettered', i, 'hopeless' FROM n;
        INSERT INTO processed_events (event_id, handler, status, started_at, processed_at, attempts, last_error)
        SELECT event_id, 'dead', 'dead', 1, finished_at, 10, 'hopeless' FROM event_queue
        UNION ALL
        SELECT event_id, 'done', 'done', 1, finished_at, 1, NULL FROM event_queue"
    );
    run(connection, &script).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn large_calls_count_exactly_and_keep_other_writers_waiting_less_than_a_second() {
    let database = Database::new();
    let store = SqliteOutbox::connect(&database.url()).await.unwrap();
    store.migrate().await.unwrap();
    let mut connection = database.connect().await;
    let admin = store.admin();
    let all = DeadLetterFilter::default();

    let rows = many();
    dead_letters(&mut connection, rows).await;
    assert_eq!(admin.status().await.unwrap().dead_letters, rows as u64);
    let other = OtherWriter::start(&database);
    assert_eq!(admin.retry(&all).await.unwrap(), rows as u64);
    other.waited_less_than(A_SECOND, "retry").await;
    assert_eq!(admin.status().await.unwrap().count(EventState::Pending), rows as u64);
    let released = "SELECT count(*) FROM processed_events WHERE status = 'released' AND attempts = 0";
    assert_eq!(number(&mut connection, released).await, rows);

    dead_letters(&mut connection, rows).await;
    let other = OtherWriter::start(&database);
    assert_eq!(admin.discard(&all).await.unwrap(), rows as u64);
    other.waited_less_than(A_SECOND, "discard").await;
    assert_eq!(number(&mut connection, "SELECT count(*) FROM event_queue").await, 0);
    let done = "SELECT count(*) FROM processed_events WHERE status = 'done'";
    assert_eq!(number(&mut connection, done).await, 2 * rows);

    dead_letters(&mut connection, rows).await;
    let other = OtherWriter::start(&database);
    let pruned = admin.prune(&Retention::default()).await.unwrap();
    other.waited_less_than(A_SECOND, "prune").await;
    assert_eq!(pruned, Pruned { events: rows as u64, claims: 2 * rows as u64 });

    dead_letters(&mut connection, rows).await;
    run(
        &mut connection,
        "UPDATE event_queue SET status = 'pending', finished_at = NULL, waits_for = 'handler';
        UPDATE processed_events SET status = 'released', lease_until = 1, processed_at = NULL WHERE handler = 'dead'",
    )
    .await;
    let other = OtherWriter::start(&database);
    assert_eq!(admin.forget_handler("dead").await.unwrap(), rows as u64);
    other.waited_less_than(A_SECOND, "forget_handler").await;
    assert_eq!(admin.status().await.unwrap().count(EventState::Done), rows as u64);
}

#[tokio::test]
async fn one_transaction_enqueues_more_events_than_a_statement_has_parameters() {
    const EVENTS: usize = 300_000;
    let database = Database::new();
    let store = SqliteOutbox::connect(&database.url()).await.unwrap();
    store.migrate().await.unwrap();
    let mut tx = store.pool().begin_with("BEGIN IMMEDIATE").await.unwrap();
    let events = (0..EVENTS).map(|n| NewEvent::raw("t", n.to_string()));
    let enqueued = enqueue_events(&mut *tx, events).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(enqueued.len(), EVENTS);
    assert!(enqueued.iter().all(|Enqueued { duplicate, .. }| !duplicate));
    let mut connection = database.connect().await;
    let in_order = "SELECT count(*) FROM event_queue WHERE payload = CAST(id - 1 AS TEXT)";
    assert_eq!(number(&mut connection, in_order).await, EVENTS as i64);
}

#[tokio::test]
async fn no_statement_that_writes_reads_a_whole_table() {
    let database = Database::new();
    let mut connection = database.connect().await;
    outbox_sqlite::migrate(&mut connection).await.unwrap();
    run(&mut connection, include_str!("../src/sql/temp_tables.sql")).await;
    for (name, statement) in [
        ("admin_retry_claims", include_str!("../src/sql/admin_retry_claims.sql")),
        ("admin_retry_events", include_str!("../src/sql/admin_retry_events.sql")),
        ("admin_whole_events", include_str!("../src/sql/admin_whole_events.sql")),
        ("admin_discard_claims", include_str!("../src/sql/admin_discard_claims.sql")),
        ("admin_discard_others", include_str!("../src/sql/admin_discard_others.sql")),
        ("admin_discard_events", include_str!("../src/sql/admin_discard_events.sql")),
        ("admin_forget_claims", include_str!("../src/sql/admin_forget_claims.sql")),
        ("admin_touch", include_str!("../src/sql/admin_touch.sql")),
        ("wake_key", include_str!("../src/sql/wake_key.sql")),
        ("requeue", include_str!("../src/sql/requeue.sql")),
        ("prune_events", include_str!("../src/sql/prune_events.sql")),
        ("prune_claims", include_str!("../src/sql/prune_claims.sql")),
        ("prune_unfinished", include_str!("../src/sql/prune_unfinished.sql")),
        ("upkeep_finish_unhandled", include_str!("../src/sql/upkeep_finish_unhandled.sql")),
    ] {
        let found = scans(&mut connection, statement).await;
        assert!(found.is_empty(), "{name}: {found:#?}");
    }
}

#[tokio::test]
async fn lists_of_dead_letters_and_of_what_can_be_pruned_are_read_by_index() {
    let database = Database::new();
    let mut connection = database.connect().await;
    outbox_sqlite::migrate(&mut connection).await.unwrap();
    for (name, statement, index) in [
        ("admin_dead_claims", include_str!("../src/sql/admin_dead_claims.sql"), "processed_events_finished"),
        ("admin_dead_events", include_str!("../src/sql/admin_dead_events.sql"), "event_queue_dead"),
        ("admin_forget_rest", include_str!("../src/sql/admin_forget_rest.sql"), "processed_events_released"),
        ("admin_event", include_str!("../src/sql/admin_event.sql"), "event_queue_event_id"),
        ("prune_find", include_str!("../src/sql/prune_find.sql"), "event_queue_done"),
        ("prune_find", include_str!("../src/sql/prune_find.sql"), "event_queue_dead"),
        ("prune_find", include_str!("../src/sql/prune_find.sql"), "processed_events_finished"),
        ("prune_find", include_str!("../src/sql/prune_find.sql"), "processed_events_released"),
    ] {
        let plan = plan(&mut connection, statement).await;
        assert!(plan.iter().any(|line| line.contains(index)), "{name}: {plan:#?}");
        let found = scans(&mut connection, statement).await;
        assert!(found.is_empty(), "{name}: {found:#?}");
    }
}

/// Lines of the plan that read all of a table which may be large. Short ones are the listed handlers, scratch tables and
/// what a statement makes up for itself.
async fn scans(connection: &mut SqliteConnection, statement: &str) -> Vec<String> {
    let aliases = large_tables(statement);
    let mut found = plan(connection, statement).await;
    found.retain(|line| {
        let scanned = line.strip_prefix("SCAN ").and_then(|rest| rest.split(' ').next());
        scanned.is_some_and(|name| aliases.iter().any(|alias| alias == name))
    });
    found
}

/// The large tables, and the names that the statement gives them.
fn large_tables(statement: &str) -> Vec<String> {
    let words: Vec<&str> = statement.split_whitespace().collect();
    let mut names = vec!["event_queue".to_owned(), "processed_events".to_owned()];
    for place in words.windows(3) {
        if ["event_queue", "processed_events"].contains(&place[0]) && place[1] == "AS" {
            names.push(place[2].trim_end_matches([')', ';', ',']).to_owned());
        }
    }
    names
}

async fn plan(connection: &mut SqliteConnection, statement: &str) -> Vec<String> {
    let rows =
        sqlx::raw_sql(AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}"))).fetch_all(connection).await;
    rows.unwrap().iter().map(|row| row.get::<String, _>("detail")).collect()
}

#[tokio::test]
async fn what_a_discarded_event_leaves_in_the_ledger_is_finished() {
    let database = Database::new();
    let store = SqliteOutbox::connect(&database.url()).await.unwrap();
    store.migrate().await.unwrap();
    let mut connection = database.connect().await;
    run(
        &mut connection,
        "INSERT INTO event_queue (event_id, event_type, payload, status, finished_at) VALUES
            ('67e55044-10b1-426f-9247-bb680e5fe0c8', 't', '{}', 'dead_lettered', 1);
        INSERT INTO processed_events (event_id, handler, status, started_at, lease_until) VALUES
            ('67e55044-10b1-426f-9247-bb680e5fe0c8', 'a', 'released', 1, 1),
            ('67e55044-10b1-426f-9247-bb680e5fe0c8', 'b', 'in_progress', 1, 1)",
    )
    .await;
    assert_eq!(store.admin().discard(&DeadLetterFilter::default()).await.unwrap(), 1);
    let states = texts(&mut connection, "SELECT handler || ' ' || status FROM processed_events").await;
    assert_eq!(states, ["a done", "b done"]);
}

#[tokio::test]
async fn an_event_is_found_under_every_way_to_write_its_id() {
    let database = Database::new();
    let store = SqliteOutbox::connect(&database.url()).await.unwrap();
    store.migrate().await.unwrap();
    let enqueued = store.enqueue_all(vec![NewEvent::raw("t", "{}")]).await.unwrap();
    let id = enqueued[0].id.to_string();
    let mut connection = database.connect().await;
    assert_eq!(texts(&mut connection, "SELECT event_id FROM event_queue").await, [id.as_str()]);
    let plain = id.replace('-', "");
    for written in
        [id.clone(), id.to_uppercase(), plain.clone(), format!("{{{id}}}"), format!("urn:uuid:{id}")]
    {
        let explanation = store.admin().explain(written.parse().unwrap()).await.unwrap();
        assert_eq!(explanation.expect("found").event_id, enqueued[0].id, "{written}");
    }
    // And whichever way a foreign writer has written it.
    for written in [id.to_uppercase(), plain.to_uppercase(), plain, format!("{{{id}}}")] {
        run(&mut connection, &format!("UPDATE event_queue SET event_id = '{written}'")).await;
        let explanation = store.admin().explain(enqueued[0].id).await.unwrap();
        assert!(explanation.is_some(), "{written}");
    }
}

/// It is not handled, and holds its key, until somebody puts it right; so it is told of.
#[tokio::test]
async fn an_event_whose_state_was_set_by_hand_to_none_of_ours_is_shown() {
    let database = Database::new();
    let store = SqliteOutbox::connect(&database.url()).await.unwrap();
    store.migrate().await.unwrap();
    let keyed = || NewEvent::raw("t", "{}").key("k");
    let id = store.enqueue_all(vec![keyed(), keyed()]).await.unwrap()[0].id;
    let mut connection = database.connect().await;
    run(&mut connection, "UPDATE event_queue SET status = 'paused' WHERE id = 1").await;
    let reason = WaitReason::UnknownState("paused".to_owned());
    let status = store.admin().status().await.unwrap();
    assert!(status.waiting.contains(&Waiting { reason: reason.clone(), events: 1 }), "{status:?}");
    assert_eq!(status.count(EventState::Pending), 1);
    let explanation = store.admin().explain(id).await.unwrap().unwrap();
    assert_eq!((explanation.state, &explanation.waits_for), (None, &Some(reason)));
    let told = explanation.to_string();
    assert!(told.contains(": paused, waits for somebody to put right its unknown state"), "{told}");
}
