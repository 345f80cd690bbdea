//! Names that are keywords.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

#[derive(Serialize, Deserialize, Event)]
#[event(type = "typed", key = "type")]
struct Typed {
    r#type: String,
}

#[derive(Serialize, Deserialize, Event)]
#[event(type = "inner", key = "inner.match")]
struct Outer {
    inner: Inner,
}

#[derive(Serialize, Deserialize)]
struct Inner {
    r#match: u64,
}

#[event_handler(name = "a")]
async fn r#match(r#type: Typed) -> Result<(), String> {
    let _ = r#type.r#type;
    Ok(())
}

#[event_handler(name = "b", module = r#loop)]
async fn r#move(_: Outer) -> Result<(), String> {
    Ok(())
}

fn main() {
    assert_eq!(r#match::HANDLER.name(), "a");
    assert_eq!(r#loop::HANDLER.name(), "b");
    assert_eq!(Typed { r#type: "x".to_owned() }.key().as_deref(), Some("x"));
    assert_eq!(Outer { inner: Inner { r#match: 7 } }.key().as_deref(), Some("7"));
}
