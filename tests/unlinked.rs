//! A crate of handlers on which the binary depends, and which nothing in it names: the linker leaves it out.

use outbox::{BuildError, MemoryOutbox, Registry, Worker};

#[test]
fn handlers_of_a_crate_that_nothing_names_are_missed_at_the_start_if_they_are_expected() {
    assert_eq!(Registry::collect().iter().count(), 0);
    let store = MemoryOutbox::new();
    let builder = Worker::builder(store.bus(), store.ledger());
    let error = builder.expect_handlers(["linked_mail"]).build().unwrap_err();
    assert!(matches!(&error, BuildError::NotLinked { name, .. } if name == "linked_mail"), "{error}");
    let text = error.to_string();
    assert!(text.contains("not linked into this binary; it has: no handlers"), "{text}");
    assert!(text.contains("Name its module") && text.contains(".handlers("), "{text}");
}
