//! A crate of handlers that the binary names, and no more than that.

use linked_handlers as _;
use outbox::{MemoryOutbox, Registry, Worker};

#[test]
fn the_handlers_of_a_crate_that_is_only_named_are_registered() {
    let registry = Registry::collect();
    let mut names: Vec<&str> = registry.iter().map(outbox::Handler::name).collect();
    names.sort_unstable();
    assert_eq!(names, ["linked_count", "linked_mail"]);
    let store = MemoryOutbox::new();
    let builder = Worker::builder(store.bus(), store.ledger());
    builder.expect_handlers(["linked_mail", "linked_count"]).build().unwrap();
}
