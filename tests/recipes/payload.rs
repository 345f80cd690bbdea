//! Payloads are text, and stay the text that was written.

use std::time::Duration;

use outbox::prelude::*;
use outbox::{EnqueueError, InvalidEvent, limits};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::support::database::Database;
use crate::support::running::{Running, quick};

const SOON: Duration = Duration::from_secs(20);

/// Numbers that a detour through floating point would change, a key twice, spaces and escapes that a parser drops.
const ODD: &str = r#"{ "u":18446744073709551615, "i":-9223372036854775808,"j":9007199254740993,
    "d":0.1234567890123456789,"n":1.0,"e":1e400, "dup":1,"dup":2, "text":"\u00e9é\ud83d\ude00 \/ \u2028" }"#;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payload_reaches_handler_dead_letter_and_retry_byte_for_byte() {
    let database = Database::new().await;
    let mut tx = database.store.pool().begin_with("BEGIN IMMEDIATE").await.unwrap();
    // Alone and among others: each has its own statement.
    enqueue_events(&mut tx, [NewEvent::raw("test.odd", ODD)]).await.unwrap();
    enqueue_events(&mut tx, [NewEvent::raw("test.odd", ODD), NewEvent::raw("test.odd", ODD)]).await.unwrap();
    tx.commit().await.unwrap();
    database
        .run(&format!("INSERT INTO event_queue (event_type, payload) VALUES ('test.odd', '{ODD}')"))
        .await;
    let (tell, mut told) = mpsc::unbounded_channel();
    let handler = RuntimeHandler::new("odd", "test.odd", move |payload, _| {
        let told = tell.send(payload);
        async move { told.map_err(HandlerError::permanent).and(Err(HandlerError::permanent("as planned"))) }
    });
    let running = Running::start(database.worker().runtime_handler(handler));
    let dead = "SELECT count(*) = 4 FROM event_queue WHERE status = 'dead_lettered'";
    database.until(SOON, dead).await;
    let admin = database.store.admin();
    let all = outbox::DeadLetterFilter::default();
    for letter in admin.dead_letters(&all, 10).await.unwrap() {
        assert_eq!(letter.payload, ODD);
        let explained = admin.explain(letter.event_id).await.unwrap().unwrap();
        assert_eq!(explained.payload, ODD);
    }
    assert_eq!(admin.retry(&all).await.unwrap(), 4);
    for _ in 0..8 {
        let payload = tokio::time::timeout(SOON, told.recv()).await.expect("in time").unwrap();
        assert_eq!(payload, ODD);
    }
    assert_eq!(database.texts("SELECT DISTINCT payload FROM event_queue").await, [ODD]);
    running.stop().await;
}

#[derive(Debug, PartialEq, Serialize, Deserialize, Event)]
#[event(type = "test.numbers")]
struct Numbers {
    unsigned: u64,
    signed: i64,
    beyond_double: u64,
    tiny: f64,
}

#[event_handler(name = "numbers", idempotency(skip = "a tool of the tests"))]
async fn numbers(event: Numbers, State(told): State<mpsc::UnboundedSender<Numbers>>) -> Result<(), String> {
    told.send(event).map_err(|error| error.to_string())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn numbers_at_the_edges_arrive_as_they_were_sent() {
    let event = || Numbers {
        unsigned: u64::MAX,
        signed: i64::MIN,
        beyond_double: 9_007_199_254_740_993,
        tiny: f64::from_bits(1),
    };
    let database = Database::new().await;
    let (tell, mut told) = mpsc::unbounded_channel();
    let running = Running::start(database.worker().handlers([&numbers::HANDLER]).state(tell));
    database.store.enqueue(&event()).await.unwrap();
    assert_eq!(tokio::time::timeout(SOON, told.recv()).await.expect("in time"), Some(event()));
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_payload_that_does_not_decode_is_dead_lettered_at_once_and_keeps_nobody_waiting() {
    let database = Database::new().await;
    let (tell, mut told) = mpsc::unbounded_channel();
    let good = Numbers { unsigned: 1, signed: 2, beyond_double: 3, tiny: 4.0 };
    for payload in ["{\"unsigned\": \"many\"}", "not json", "", "{\"unsigned\":18446744073709551616}", "null"]
    {
        let row =
            format!("INSERT INTO event_queue (event_type, payload) VALUES ('test.numbers', '{payload}')");
        database.run(&row).await;
    }
    // Neither text that is no UTF-8 nor a version that no program has ever had stops the batch.
    database
        .run(
            "INSERT INTO event_queue (event_type, payload) VALUES ('test.numbers', CAST(x'7bff7d' AS TEXT));
             INSERT INTO event_queue (event_type, payload, event_version) VALUES ('test.numbers', '{}', -7)",
        )
        .await;
    database.store.enqueue(&good).await.unwrap();
    let running = Running::start(database.worker().handlers([&numbers::HANDLER]).state(tell));
    assert_eq!(tokio::time::timeout(SOON, told.recv()).await.expect("in time"), Some(good));
    database.until(SOON, "SELECT count(*) = 7 FROM event_queue WHERE status = 'dead_lettered'").await;
    assert_eq!(database.number("SELECT max(attempts) FROM processed_events").await, 1);
    let letters =
        database.store.admin().dead_letters(&outbox::DeadLetterFilter::default(), 10).await.unwrap();
    assert_eq!(letters.len(), 7);
    for letter in letters {
        let names_it = letter.reason.starts_with("payload does not decode as test.numbers version 1:")
            || letter.reason.contains("event_version -7");
        assert!(names_it, "{}", letter.reason);
    }
    running.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_type_or_a_count_that_no_program_writes_is_listed_and_stops_nobody() {
    let database = Database::new().await;
    database
        .run(
            "INSERT INTO event_queue (event_type, payload) VALUES (CAST(x'61ff' AS TEXT), '1');
             INSERT INTO event_queue (event_type, payload, event_id)
                VALUES ('test.a', '1', '67e55044-10b1-426f-9247-bb680e5fe0c8');
             INSERT INTO processed_events (event_id, handler, status, started_at, lease_until, attempts)
                VALUES ('67e55044-10b1-426f-9247-bb680e5fe0c8', 'all', 'released', 0, 0, -3)",
        )
        .await;
    let all = RuntimeHandler::new("all", "*", |_, _| async { Ok::<(), String>(()) });
    let running = Running::start(database.worker().runtime_handler(all));
    let mut tx = database.store.pool().begin_with("BEGIN IMMEDIATE").await.unwrap();
    enqueue_events(&mut tx, [NewEvent::raw("test.a", "1")]).await.unwrap();
    tx.commit().await.unwrap();
    database.until(SOON, "SELECT count(*) = 2 FROM event_queue WHERE status = 'done'").await;
    let status = database.store.admin().status().await.unwrap();
    let odd = status.counts.iter().find(|count| count.event_type == "a\u{fffd}").expect("it is listed");
    assert_eq!(odd.state.as_str(), "pending");
    assert!(running.health().is_ready(), "{:?}", running.health());
    running.stop().await;
}

#[tokio::test]
async fn what_is_too_long_or_misformed_is_refused_naming_it_and_the_transaction_goes_on() {
    let database = Database::new().await;
    let mut tx = database.store.pool().begin_with("BEGIN IMMEDIATE").await.unwrap();
    let event = || NewEvent::raw("test.odd", "1");
    let too_long = "x".repeat(10_000);
    let cases = [
        (NewEvent::raw(too_long.clone(), "1"), "event type"),
        (NewEvent::raw("spaces and ünicode", "1"), "event type"),
        (event().key(too_long.clone()), "event key"),
        (event().key(""), "event key"),
        (event().header("a b", "v"), "header name"),
        (event().header("a", "line\r\nbreak"), "header \"a\""),
        (event().header("a", too_long.clone()), "header \"a\""),
        (NewEvent::raw("test.odd", "{"), "payload is not JSON"),
        (NewEvent::raw("test.odd", format!("\"{}\"", "x".repeat(limits::MAX_PAYLOAD_BYTES))), "payload of"),
        (event().version(0), "event version 0"),
    ];
    for (refused, named) in cases {
        let error = enqueue_events(&mut tx, [event(), refused]).await.unwrap_err();
        assert!(matches!(error, EnqueueError::Invalid(_)), "{error}");
        let text = error.to_string();
        assert!(text.contains(named) && text.len() < 500, "{named}: {text}");
    }
    let many = (0..=limits::MAX_HEADERS).fold(event(), |event, n| event.header(format!("h{n}"), "v"));
    let error = enqueue_events(&mut tx, [many]).await.unwrap_err();
    assert!(matches!(error, EnqueueError::Invalid(InvalidEvent::HeaderCount { count: 65 })), "{error}");
    enqueue_events(&mut tx, [event()]).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(database.number("SELECT count(*) FROM event_queue").await, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_version_above_the_known_one_waits_for_a_newer_worker() {
    let database = Database::new().await;
    let newer = NewEvent::raw("test.numbers", "{\"new\":true}").version(2);
    let mut tx = database.store.pool().begin_with("BEGIN IMMEDIATE").await.unwrap();
    enqueue_events(&mut tx, [newer]).await.unwrap();
    tx.commit().await.unwrap();
    let (tell, mut told) = mpsc::unbounded_channel::<Numbers>();
    let old = Running::start(database.worker().settings(quick()).handlers([&numbers::HANDLER]).state(tell));
    database.until(SOON, "SELECT waits_for = 'version:2' FROM event_queue").await;
    assert_eq!(database.number("SELECT sum(attempts) FROM event_queue").await, 0);
    assert!(told.try_recv().is_err());
    let new = RuntimeHandler::new("numbers", "test.numbers", |_, _| async { Ok::<(), String>(()) });
    let new = Running::start(database.worker().runtime_handler(new.max_version(2)));
    database.until_done(SOON, 1).await;
    old.stop().await;
    new.stop().await;
}
