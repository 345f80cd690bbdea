//! What can be wrong with a worker, and what each mistake is told as.

use outbox_core::{
    BuildError, Event, Handler, HandlerTransaction, IdempotencyCheck, LedgerError, MemoryOutbox,
    RuntimeHandler, State, StoreError, TransactionType, Worker, WorkerBuilder, WorkerSettings, async_trait,
    event_handler,
};
use serde::{Deserialize, Serialize};

use crate::support::seconds;

#[derive(Serialize, Deserialize)]
struct Tick;

impl Event for Tick {
    const TYPE: &'static str = "tick";
}

/// A handler that needs state.
#[event_handler(name = "needy", crate = outbox_core, idempotency(skip = "a helper of these tests"))]
async fn needy(_tick: Tick, State(count): State<u16>) -> Result<(), String> {
    let _ = count;
    Ok(())
}

/// A handler by hand, under the name of the annotated one.
static TWIN: Handler = Handler::new::<Tick>("needy", |_| Box::pin(async { unreachable!("it is never run") }))
    .location("src/elsewhere.rs", 7, "elsewhere")
    .check(IdempotencyCheck::Skipped("a helper of these tests"));

/// A handler that takes a transaction that no memory store has.
static TRANSACTIONAL: Handler =
    Handler::new::<Tick>("in_tx", |_| Box::pin(async { unreachable!("it is never run") }))
        .location("src/tx.rs", 9, "tx")
        .transaction(TransactionType::of::<NoTx>());

struct NoTx;

#[async_trait]
impl HandlerTransaction for NoTx {
    async fn commit(self: Box<Self>) -> Result<(), LedgerError> {
        Ok(())
    }
    async fn rollback(self: Box<Self>) -> Result<(), StoreError> {
        Ok(())
    }
}

fn builder() -> WorkerBuilder {
    let store = MemoryOutbox::new();
    Worker::builder(store.bus(), store.ledger()).only_given_handlers()
}

fn runtime(name: &str, pattern: &str) -> RuntimeHandler {
    RuntimeHandler::new(name, pattern, |_, _| async { Ok::<(), String>(()) })
}

/// Builds, and checks that the message tells all of these.
#[track_caller]
fn check(builder: WorkerBuilder, told: &[&str]) -> BuildError {
    let error = builder.build().expect_err("the worker is wrong");
    let message = error.to_string();
    for part in told {
        assert!(message.contains(part), "{part:?} is not told: {message}");
    }
    error
}

#[test]
fn a_duplicate_name_is_told_with_both_places() {
    let line = needy::HANDLER.written_at().line.to_string();
    let here = format!("building.rs:{line}");
    let twins = builder().state(1_u16).handlers([&needy::HANDLER, &TWIN]);
    let error = check(twins, &["\"needy\"", &here, "src/elsewhere.rs:7"]);
    assert!(matches!(error, BuildError::DuplicateName { .. }));
    check(
        builder().runtime_handler(runtime("a", "t")).runtime_handler(runtime("a", "u.*")),
        &["\"a\"", "u.*"],
    );
}

#[test]
fn a_handler_that_is_registered_twice_is_one_handler() {
    builder().state(1_u16).handlers([&needy::HANDLER, &needy::HANDLER]).build().unwrap();
}

#[test]
fn missing_state_is_told_with_its_type_and_the_handlers_place() {
    let error = check(builder().handlers([&needy::HANDLER]), &["\"needy\"", "u16", "building.rs", ".state("]);
    assert!(matches!(error, BuildError::MissingState { .. }));
    builder().state(1_u16).handlers([&needy::HANDLER]).build().unwrap();
}

#[test]
fn a_transaction_that_the_ledger_does_not_offer_is_told() {
    let error = check(
        builder().handlers([&TRANSACTIONAL]),
        &["\"in_tx\"", "src/tx.rs:9", "transaction worker::NoTx, but", "offers none", "MemoryOutbox"],
    );
    assert!(matches!(error, BuildError::Transaction { .. }));
}

#[test]
fn an_expected_handler_that_is_not_linked_is_told_with_those_that_are() {
    let builder = || builder().runtime_handler(runtime("a", "t")).runtime_handler(runtime("b", "t"));
    let error = check(builder().expect_handlers(["a", "mailer"]), &["\"mailer\"", "a, b", ".handlers("]);
    assert!(matches!(error, BuildError::NotLinked { .. }));
    builder().expect_handlers(["a", "b"]).build().unwrap();
}

#[test]
fn names_and_types_are_checked() {
    for name in ["", "Mail", "a b", "é", &"x".repeat(65)] {
        let error = check(builder().runtime_handler(runtime(name, "t")), &["[a-z0-9_.-]"]);
        assert!(matches!(error, BuildError::Name { .. }), "{name}");
    }
    for event_type in ["", "a b", "a..b", ".", "a/*"] {
        let error = check(builder().runtime_handler(runtime("a", event_type)), &["\"a\"", event_type]);
        assert!(matches!(error, BuildError::EventType { .. }), "{event_type}");
    }
    for event_type in ["*", "a.*", "*.b", "a*"] {
        builder().runtime_handler(runtime("a", event_type)).build().unwrap();
    }
}

#[test]
fn settings_out_of_bounds_are_told_with_their_value_and_what_is_allowed() {
    let settings = |settings: WorkerSettings| builder().settings(settings);
    let default = WorkerSettings::default;
    check(
        settings(WorkerSettings { concurrency: 0, ..default() }),
        &["concurrency (EVENT_CONCURRENCY) = 0: must be a whole number from 1 to 10000"],
    );
    check(
        settings(WorkerSettings { max_attempts: 0, ..default() }),
        &["max_attempts (EVENT_QUEUE_MAX_ATTEMPTS) = 0: must be a whole number of at least 1"],
    );
    check(
        settings(WorkerSettings { lease: seconds(0), ..default() }),
        &["lease (EVENT_LEDGER_LEASE_SECONDS) = 0ns: must be a duration from 100ms to 1 day"],
    );
    check(
        settings(WorkerSettings { poll: seconds(4_000), ..default() }),
        &["poll (EVENT_POLL_SECONDS) = 4000s: must be a duration from 1ms to 1 hour"],
    );
    check(builder().concurrency(20_000), &["concurrency (EVENT_CONCURRENCY) = 20000"]);
    let handler = runtime("a", "t").timeout(seconds(0));
    check(
        builder().runtime_handler(handler),
        &["handler \"a\": timeout = 0ns: must be a duration from 1ms to 1 day"],
    );
    let handler = runtime("a", "t").lease(seconds(100_000));
    check(builder().runtime_handler(handler), &["handler \"a\": lease = 100000s: must be"]);
    let handler = runtime("a", "t").max_attempts(20_000);
    check(builder().runtime_handler(handler), &["\"a\"", "retention.ledger", "max_attempts = 20000"]);
}

#[test]
fn settings_and_concurrency_may_be_given_in_either_order() {
    let settings = || WorkerSettings { concurrency: 20_000, poll: seconds(2), ..WorkerSettings::default() };
    builder().concurrency(1).settings(settings()).build().unwrap();
    builder().settings(settings()).concurrency(1).build().unwrap();
    check(builder().settings(settings()), &["concurrency (EVENT_CONCURRENCY) = 20000"]);
}

/// Two handlers of the binary that no test above gives are found by themselves.
#[test]
fn annotated_handlers_are_found_by_themselves() {
    let store = MemoryOutbox::new();
    let builder = || Worker::builder(store.bus(), store.ledger()).expect_handlers(["needy", "ratings"]);
    check(builder(), &["takes State<"]);
    let seen = std::sync::Arc::<std::sync::Mutex<Vec<crate::decoding::Rated>>>::default();
    builder().state(1_u16).state(seen).build().unwrap();
}
