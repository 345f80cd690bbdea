//! An author may call things as the generated code does.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

use std::future::ready as test;

#[allow(non_snake_case)]
fn Ok<T>(value: T) -> std::result::Result<T, String> {
    std::result::Result::Ok(value)
}

#[allow(non_snake_case)]
fn Err(_: ()) {}

type Result = std::result::Result<(), String>;

struct Handler;
struct Box;
struct Option;
struct String2;
struct Registration;
mod core {}
mod std_ {}

#[derive(Clone)]
struct Claim;

#[event_handler(name = "a", idempotency(skip = "pure"))]
async fn run(run: Tick, claim: outbox::State<Claim>, call: outbox::Delivery, tx: outbox::State<u8>) -> Result {
    let _ = (Handler, Box, Option, String2, Registration, run, claim, call, tx);
    test(()).await;
    Err(());
    Ok(())
}

#[event_handler(name = "b")]
async fn claim(event: Tick, outbox::State(mut event2): outbox::State<u8>, _: outbox::Delivery) -> Result {
    event2 += 1;
    let _ = (event, event2);
    Ok(())
}

fn main() {}
