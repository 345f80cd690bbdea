//! What a program sees of its annotated functions.

use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use outbox::{Event, HandlerError, IdempotencyCheck, OnDead, Registry, State, event_handler};
use serde::{Deserialize, Serialize};

#[path = "support/tx.rs"]
mod support;
use support::TestTx;

#[derive(Serialize, Deserialize, Event)]
#[event(type = "movie.added", version = 3, key = "movie_id")]
struct MovieAdded {
    movie_id: String,
}

/// It lives under `cfg(test)`, as this whole file does.
struct PosterScenario;

const LINE_BEFORE_POSTER_SYNC: u32 = line!();
#[event_handler(
    name = "poster_sync",
    idempotency = PosterScenario,
    timeout = "1500ms",
    max_attempts = 4,
    lease = "10m",
    on_dead = "block"
)]
async fn poster_sync(event: MovieAdded, State(taken): State<&'static str>) -> Result<(), HandlerError> {
    if event.movie_id == taken { Err(HandlerError::permanent("taken")) } else { Ok(()) }
}

#[event_handler(name = "search_index", idempotency(skip = "effect and mark commit together"))]
async fn search_index(event: MovieAdded, tx: &mut TestTx<'_>) -> Result<(), String> {
    let _ = (event, tx);
    Ok(())
}

#[event_handler(name = "unchecked", module = unchecked_handler)]
async fn unchecked(_: MovieAdded) -> Result<(), String> {
    Ok(())
}

#[test]
fn a_handler_knows_what_its_annotation_says() {
    let handler = &poster_sync::HANDLER;
    assert_eq!((handler.name(), handler.event_type(), handler.version()), ("poster_sync", "movie.added", 3));
    let terms = handler.terms();
    assert_eq!(terms.timeout, Some(Duration::from_millis(1500)));
    assert_eq!(terms.max_attempts, Some(4));
    assert_eq!(terms.lease, Some(Duration::from_secs(600)));
    assert_eq!(terms.on_dead, Some(OnDead::Block));
    assert!(handler.transaction_type().is_none());
}

#[test]
fn what_is_not_annotated_is_left_to_the_worker() {
    let terms = unchecked_handler::HANDLER.terms();
    assert_eq!((terms.timeout, terms.max_attempts, terms.lease, terms.on_dead), (None, None, None, None));
}

#[test]
fn a_handler_is_found_at_the_line_of_its_function() {
    let location = poster_sync::HANDLER.written_at();
    assert_eq!(location.file, file!());
    let lines_of_the_attribute = 8;
    assert_eq!(location.line, LINE_BEFORE_POSTER_SYNC + lines_of_the_attribute + 1);
    assert_eq!(location.module, concat!(module_path!(), "::poster_sync"));
}

#[test]
fn a_transaction_in_the_signature_is_known_before_the_handler_runs() {
    let transaction = search_index::HANDLER.transaction_type().expect("the signature has one");
    assert_eq!(transaction, outbox::TransactionType::of::<TestTx<'static>>());
}

#[test]
fn the_registry_knows_how_each_handler_is_checked() {
    assert_eq!(poster_sync::HANDLER.idempotency(), IdempotencyCheck::Scenario);
    let skipped = IdempotencyCheck::Skipped("effect and mark commit together");
    assert_eq!(search_index::HANDLER.idempotency(), skipped);
    assert_eq!(unchecked_handler::HANDLER.idempotency(), IdempotencyCheck::Missing);
}

#[test]
fn handlers_register_themselves_when_they_are_linked() {
    let registry = Registry::collect();
    let names: Vec<_> = registry.for_event("movie.added").map(outbox::Handler::name).collect();
    assert_eq!(names, ["poster_sync", "search_index", "unchecked"]);
    assert!(std::ptr::eq(registry.get("poster_sync").unwrap(), &poster_sync::HANDLER));
}

#[test]
fn the_function_stays_callable() {
    let call = |movie_id: &str| {
        let mut future = pin!(poster_sync(MovieAdded { movie_id: movie_id.to_owned() }, State("tt1")));
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => result,
            Poll::Pending => panic!("the function awaits nothing"),
        }
    };
    assert!(call("tt0").is_ok());
    assert_eq!(call("tt1").unwrap_err().to_string(), "taken");
}
