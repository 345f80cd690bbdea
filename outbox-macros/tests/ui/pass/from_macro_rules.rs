//! A handler that another macro writes.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

macro_rules! handler {
    ($function:ident, $name:literal, $event:ty, $state:ty) => {
        #[event_handler(name = $name, timeout = "1s")]
        async fn $function(event: $event, state: outbox::State<$state>) -> Result<(), String> {
            let _ = (event, state.0);
            Ok(())
        }
    };
}

handler!(one, "one", Tick, u8);
handler!(two, "two", self::Tick, &'static str);

fn main() {
    assert_eq!([one::HANDLER.name(), two::HANDLER.name()], ["one", "two"]);
}
