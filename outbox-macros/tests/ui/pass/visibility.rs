//! The module is as visible as its function.

use outbox::{Event, event_handler};
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
struct Tick;

mod handlers {
    use super::{Tick, event_handler};

    #[event_handler(name = "a")]
    pub async fn everywhere(_: Tick) -> Result<(), String> {
        Ok(())
    }

    #[event_handler(name = "b")]
    pub(crate) async fn in_crate(_: Tick) -> Result<(), String> {
        Ok(())
    }

    #[event_handler(name = "c")]
    pub(in crate::handlers) async fn in_path(_: Tick) -> Result<(), String> {
        Ok(())
    }

    #[event_handler(name = "d")]
    async fn private(_: Tick) -> Result<(), String> {
        Ok(())
    }

    pub(super) fn names() -> [&'static str; 2] {
        [in_path::HANDLER.name(), private::HANDLER.name()]
    }
}

fn main() {
    // Functions stay callable.
    let _ = handlers::everywhere(Tick);
    let _ = handlers::in_crate(Tick);
    assert_eq!(handlers::everywhere::HANDLER.name(), "a");
    assert_eq!(handlers::in_crate::HANDLER.name(), "b");
    assert_eq!(handlers::names(), ["c", "d"]);
}
