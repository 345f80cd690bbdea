//! Every kind of type, and every kind of key.

use outbox::Event;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Event)]
#[event(type = "A-1._x")]
#[event(version = 4294967295)]
struct Split;

#[derive(Serialize, Deserialize, Event)]
#[event(type = "tuple", key = "1.0")]
struct Tuple(u8, (Option<String>, u8));

#[derive(Serialize, Deserialize, Event)]
#[event(type = "enumeration",)]
enum Enumeration {
    One,
    Two(u8),
}

#[derive(Serialize, Deserialize, Event)]
#[event(type = "by_path", version = 2, upcast = self::upcasts::from_one)]
struct ByPath {}

mod upcasts {
    use outbox::UpcastError;
    use serde_json::Value;

    pub(crate) fn from_one(version: u32, _: Value) -> Result<Value, UpcastError> {
        Err(UpcastError::new(format!("from {version}")))
    }
}

fn main() {
    assert_eq!((Split::TYPE, Split::VERSION), ("A-1._x", u32::MAX));
    assert_eq!(Tuple(0, (Some("k".to_owned()), 0)).key().as_deref(), Some("k"));
    assert_eq!(Tuple(0, (None, 0)).key(), None);
    assert_eq!([Enumeration::One, Enumeration::Two(2)].map(|event| event.key()), [None, None]);
    assert_eq!(ByPath::upcast(1, serde_json::Value::Null).unwrap_err().to_string(), "from 1");
}
