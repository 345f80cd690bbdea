//! A handler is its name: not the place of its code, and never two at once.

use std::time::Duration;

use outbox::prelude::*;
use outbox::{BuildError, Handler, MemoryOutbox, Registry};
use serde::{Deserialize, Serialize};
use tokio::sync::mpsc;

use crate::support::child::Plan;
use crate::support::database::Database;
use crate::support::handlers;
use crate::support::process::Process;
use crate::support::running::Running;
use crate::support::wait::wait_until;

const SOON: Duration = Duration::from_secs(20);

#[derive(Serialize, Deserialize, Event)]
#[event(type = "test.letter")]
struct Letter {
    n: u32,
    fails_at_first: bool,
}

/// Tells which module handled which letter.
type Told = mpsc::UnboundedSender<(&'static str, u32)>;

/// The handler as an earlier build has it.
mod before {
    use super::*;

    #[event_handler(name = "mail", idempotency(skip = "a tool of the tests"))]
    pub(super) async fn mail(letter: Letter, State(told): State<Told>) -> Result<(), String> {
        told.send(("before", letter.n)).map_err(|error| error.to_string())?;
        if letter.fails_at_first { Err("not yet".to_owned()) } else { Ok(()) }
    }
}

/// The same handler after it was moved and renamed in the code.
mod after {
    use super::*;

    #[event_handler(name = "mail", idempotency(skip = "a tool of the tests"), module = moved)]
    pub(super) async fn send_mail(letter: Letter, State(told): State<Told>) -> Result<(), String> {
        told.send(("after", letter.n)).map_err(|error| error.to_string())
    }
}

#[event_handler(name = "mail_in_a_transaction", idempotency(skip = "a tool of the tests"))]
async fn mail_in_a_transaction(_: Letter, tx: &mut SqliteTx<'_>) -> Result<(), sqlx::Error> {
    sqlx::query("SELECT 1").execute(&mut **tx).await?;
    Ok(())
}

async fn next(told: &mut mpsc::UnboundedReceiver<(&'static str, u32)>) -> (&'static str, u32) {
    tokio::time::timeout(SOON, told.recv()).await.expect("a letter in time").expect("the handler lives")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_handler_that_was_moved_runs_what_is_left_and_nothing_again() {
    let database = Database::new().await;
    let (tell, mut told) = mpsc::unbounded_channel();
    let build = |handler: &'static Handler| database.worker().handlers([handler]).state::<Told>(tell.clone());
    let old = Running::start(build(&before::mail::HANDLER));
    database.store.enqueue(&Letter { n: 1, fails_at_first: false }).await.unwrap();
    assert_eq!(next(&mut told).await, ("before", 1));
    database.until_done(SOON, 1).await;
    database.store.enqueue(&Letter { n: 2, fails_at_first: true }).await.unwrap();
    assert_eq!(next(&mut told).await, ("before", 2));
    old.stop().await;
    database.store.enqueue(&Letter { n: 3, fails_at_first: false }).await.unwrap();
    while told.try_recv().is_ok() {}
    let new = Running::start(build(&after::moved::HANDLER));
    let both = [next(&mut told).await, next(&mut told).await];
    assert!(both.contains(&("after", 2)) && both.contains(&("after", 3)), "{both:?}");
    database.until_done(SOON, 3).await;
    assert!(told.try_recv().is_err(), "nothing ran again");
    assert_eq!(database.number("SELECT count(*) FROM processed_events WHERE handler = 'mail'").await, 3);
    new.stop().await;
}

fn message(built: Result<Worker, BuildError>) -> String {
    built.expect_err("the worker is refused").to_string()
}

#[tokio::test]
async fn two_handlers_of_one_name_are_refused_naming_both_places() {
    let (tell, _) = mpsc::unbounded_channel();
    let store = MemoryOutbox::new();
    let builder =
        || Worker::builder(store.bus(), store.ledger()).only_given_handlers().state::<Told>(tell.clone());
    let text = message(builder().handlers([&before::mail::HANDLER, &after::moved::HANDLER]).build());
    assert_eq!(text.matches("registry.rs:").count(), 2, "{text}");
    assert!(text.contains("handler name \"mail\" is taken twice"), "{text}");
    let runtime = RuntimeHandler::new("mail", "other.*", |_, _| async { Ok::<(), String>(()) });
    let text = message(builder().handlers([&before::mail::HANDLER]).runtime_handler(runtime).build());
    assert!(text.contains("registry.rs:") && text.contains("a run-time handler on other.*"), "{text}");
    // Linked into one binary, they are seen without a worker, too.
    let duplicates = Registry::collect().duplicates();
    let mail = duplicates.iter().find(|handlers| handlers[0].name() == "mail").expect("it is linked twice");
    assert_eq!(mail.len(), 2);
    // One handler given twice is one handler.
    assert!(builder().handlers([&before::mail::HANDLER, &before::mail::HANDLER]).build().is_ok());
}

#[tokio::test]
async fn names_that_would_not_survive_a_database_or_a_subject_are_refused() {
    let store = MemoryOutbox::new();
    let build = |name: &str, event_type: &str| {
        let handler = RuntimeHandler::new(name.to_owned(), event_type.to_owned(), |_, _| async {
            Ok::<(), String>(())
        });
        Worker::builder(store.bus(), store.ledger()).only_given_handlers().runtime_handler(handler).build()
    };
    for name in ["", "with spaces", "Großbuchstaben", "naïve", "a/b", "a\nb", &"x".repeat(200)] {
        let text = message(build(name, "test.a"));
        assert!(text.contains("is not allowed: `[a-z0-9_.-]`, 1 to 64 characters"), "{text}");
        assert!(text.len() < 300, "{text}");
    }
    for event_type in ["", "with spaces", "a..b", "ü", &"x".repeat(200)] {
        let text = message(build("fine", event_type));
        assert!(text.contains("handler \"fine\" has event type"), "{text}");
    }
    for (name, event_type) in [("a", "a"), ("webhook.acme-1_x", "mlc.*"), (&"x".repeat(64), "*")] {
        assert!(build(name, event_type).is_ok(), "{name} on {event_type}");
    }
}

#[tokio::test]
async fn what_a_handler_needs_and_the_worker_lacks_is_named_with_the_handlers_place() {
    let store = MemoryOutbox::new();
    let builder = || Worker::builder(store.bus(), store.ledger()).only_given_handlers();
    let text = message(builder().handlers([&before::mail::HANDLER]).build());
    let names_all = text.contains("handler \"mail\"")
        && text.contains("registry.rs:")
        && text.contains("UnboundedSender")
        && text.contains(".state(…)");
    assert!(names_all, "{text}");
    let text = message(builder().handlers([&mail_in_a_transaction::HANDLER]).build());
    let names_all = text.contains("handler \"mail_in_a_transaction\"")
        && text.contains("registry.rs:")
        && text.contains("SqliteTx");
    assert!(names_all, "{text}");
    let text = message(builder().handlers([handlers::all()[0]]).state(()).expect_handlers(["lost"]).build());
    assert!(text.contains("State<"), "a missing state comes first: {text}");
    let text = message(builder().expect_handlers(["lost"]).build());
    assert!(text.contains("\"lost\" is expected but not linked") && text.contains("no handlers"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn events_that_nobody_handles_wait_with_a_warning_and_run_after_the_deploy_that_was_missing() {
    let database = Database::new().await;
    let letters = || (0..5).map(|n| NewEvent::new(&Letter { n, fails_at_first: false }).unwrap());
    let mut tx = database.store.pool().begin_with("BEGIN IMMEDIATE").await.unwrap();
    enqueue_events(&mut tx, letters()).await.unwrap();
    tx.commit().await.unwrap();
    // A binary from which the crate of the handlers was left out.
    let without = Process::worker(&Plan::new(database.file(), database.journal()));
    let warned = || without.printed().contains("no handler is listed for it");
    wait_until("the worker warns", SOON, warned, || without.printed());
    assert!(without.printed().contains("test.letter"), "{}", without.printed());
    assert_eq!(database.events("pending").await, 5);
    assert_eq!(database.number("SELECT sum(attempts) FROM event_queue").await, 0);
    let (tell, mut told) = mpsc::unbounded_channel();
    let with = Running::start(database.worker().handlers([&before::mail::HANDLER]).state::<Told>(tell));
    for _ in 0..5 {
        assert_eq!(next(&mut told).await.0, "before");
    }
    database.until_done(SOON, 5).await;
    with.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_rolling_deploy_loses_no_event_for_the_handler_that_is_new() {
    let database = Database::new().await;
    let handler = |name: &str, told: &mpsc::UnboundedSender<String>| {
        let (name, told) = (name.to_owned(), told.clone());
        RuntimeHandler::new(name.clone(), "test.letter", move |_, _| {
            let sent = told.send(name.clone());
            async move { sent.map_err(|error| error.to_string()) }
        })
    };
    let (tell, mut told) = mpsc::unbounded_channel();
    let old = Running::start(database.worker().runtime_handler(handler("old", &tell)));
    let both =
        database.worker().runtime_handler(handler("old", &tell)).runtime_handler(handler("new", &tell));
    let both = Running::start(both);
    database.until(SOON, "SELECT count(*) = 2 FROM outbox_handlers").await;
    for n in 0..50 {
        database.store.enqueue(&Letter { n, fails_at_first: false }).await.unwrap();
    }
    database.until_done(SOON, 50).await;
    let mut runs = Vec::new();
    while let Ok(name) = told.try_recv() {
        runs.push(name);
    }
    runs.sort();
    assert_eq!(runs.iter().filter(|name| *name == "new").count(), 50);
    assert_eq!(runs.len(), 100);
    old.stop().await;
    both.stop().await;
}
