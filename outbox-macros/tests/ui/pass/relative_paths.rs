//! Types that are written relative to the function.

use outbox::Event;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tick")]
pub struct Tick;

mod outer {
    pub use outbox as library;

    #[derive(Clone)]
    pub struct Posters;

    pub trait Has {
        type Event;
    }

    impl Has for Posters {
        type Event = crate::Tick;
    }

    pub mod inner {
        use outbox::{State, event_handler};

        #[derive(Clone)]
        pub struct Here<T>(pub T);

        pub struct Scenario;

        #[event_handler(name = "a", crate = super::library, idempotency = self::Scenario)]
        pub async fn nested(
            _: <super::Posters as super::Has>::Event,
            _: State<self::Here<super::Posters>>,
            _: super::super::outer::library::Delivery,
        ) -> Result<(), self::Error> {
            Ok(())
        }

        pub type Error = String;
    }
}

fn main() {
    assert_eq!(outer::inner::nested::HANDLER.event_type(), "tick");
}
