//! Payloads and the types that handlers want.

use std::sync::{Arc, Mutex};

use outbox_core::{
    Admin, DeadLetterFilter, Event, EventState, NewEvent, RuntimeHandler, State, UpcastError, event_handler,
};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::support::{Bench, Running};

#[derive(Serialize, Deserialize, Debug, Clone, PartialEq)]
pub(crate) struct Rated {
    movie: String,
    stars: u64,
}

/// Version 2 counts in stars, version 1 counted in halves.
impl Event for Rated {
    const TYPE: &'static str = "rated";
    const VERSION: u32 = 2;

    fn upcast(version: u32, mut payload: Value) -> Result<Value, UpcastError> {
        let halves = payload["halves"].as_u64().ok_or_else(|| UpcastError::new("no `halves`"))?;
        assert_eq!(version, 1);
        payload["stars"] = (halves / 2).into();
        Ok(payload)
    }
}

type Seen = Arc<Mutex<Vec<Rated>>>;

/// Notes what it gets.
#[event_handler(name = "ratings", crate = outbox_core, idempotency(skip = "a helper of these tests"))]
async fn ratings(event: Rated, State(seen): State<Seen>) -> Result<(), String> {
    seen.lock().unwrap().push(event);
    Ok(())
}

#[tokio::test]
async fn a_payload_that_does_not_decode_is_dead_at_once_and_the_rest_of_its_batch_is_done() {
    let bench = Bench::new();
    let seen = Seen::default();
    let good = |stars: u64| NewEvent::new(&Rated { movie: "m".to_owned(), stars }).unwrap();
    let bad = NewEvent::raw("rated", r#"{"movie":"m","stars":"many"}"#).version(2);
    let events = vec![good(1), bad, good(3)];
    let ids: Vec<_> =
        bench.store.enqueue_all(events).await.unwrap().iter().map(|written| written.id).collect();
    bench.store.insert_foreign("rated", "<not json>");

    let builder = bench.worker().handlers([&ratings::HANDLER]).state(Arc::clone(&seen));
    let running = Running::start(builder);
    bench.until_all_done(&[ids[0], ids[2]]).await;
    bench.until_state(ids[1], EventState::DeadLettered).await;
    crate::support::eventually("both bad ones are dead", async || bench.dead_letters().await.len() == 2)
        .await;
    let dead = bench.dead_letters().await;
    for letter in dead {
        assert_eq!(letter.attempts, 1);
        let told = if letter.event_id == ids[1] { "version 2: invalid type" } else { "decode as" };
        assert!(letter.reason.contains("rated") && letter.reason.contains(told), "{}", letter.reason);
    }
    assert_eq!(seen.lock().unwrap().iter().map(|rated| rated.stars).sum::<u64>(), 4);
    running.stop().await;
}

#[tokio::test]
async fn an_older_payload_is_brought_to_the_handlers_version_or_says_why_not() {
    let bench = Bench::new();
    let seen = Seen::default();
    let old = bench.enqueue(NewEvent::raw("rated", r#"{"movie":"m","halves":9}"#)).await;
    let hopeless = bench.enqueue(NewEvent::raw("rated", r#"{"movie":"m"}"#)).await;
    let newer = bench.enqueue(NewEvent::raw("rated", r#"{"movie":"m","stars":5}"#).version(3)).await;
    let running = Running::start(bench.worker().handlers([&ratings::HANDLER]).state(Arc::clone(&seen)));
    bench.until_state(old, EventState::Done).await;
    bench.until_state(hopeless, EventState::DeadLettered).await;
    assert_eq!(*seen.lock().unwrap(), [Rated { movie: "m".to_owned(), stars: 4 }]);
    assert!(bench.dead_letters().await[0].reason.contains("no `halves`"));
    assert_eq!(
        bench.state(newer).await,
        Some(EventState::Pending),
        "a newer version waits for a newer worker"
    );
    running.stop().await;
}

/// Recipe "payload: large numbers altered": delivered, redriven and shown as it was written.
#[tokio::test]
async fn a_payload_is_never_altered_by_delivery_or_redrive() {
    const PAYLOAD: &str = r#"{"u":18446744073709551615,"i":-9223372036854775808,"j":9007199254740993,"d":0.1234567890123456789,"dup":1,"dup":2}"#;
    let bench = Bench::new();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let handler = {
        let seen = Arc::clone(&seen);
        RuntimeHandler::new("h", "t", move |payload, delivery| {
            seen.lock().unwrap().push(payload);
            async move { if delivery.attempt == 1 { Err("first") } else { Ok(()) } }
        })
    };
    let running = bench.start(handler.max_attempts(1));
    let id = bench.enqueue(NewEvent::raw("t", PAYLOAD)).await;
    for _ in 0..2 {
        bench.until_state(id, EventState::DeadLettered).await;
        assert_eq!(bench.dead_letters().await[0].payload, PAYLOAD);
        assert_eq!(bench.store.admin().explain(id).await.unwrap().unwrap().payload, PAYLOAD);
        bench.store.admin().retry(&DeadLetterFilter::default()).await.unwrap();
    }
    crate::support::eventually("three runs", async || seen.lock().unwrap().len() >= 3).await;
    assert!(seen.lock().unwrap().iter().all(|payload| payload == PAYLOAD));
    running.stop().await;
}
