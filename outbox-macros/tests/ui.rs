//! What compiles, and what a mistake looks like to its author.
//!
//! `TRYBUILD=overwrite cargo test -p outbox-macros --test ui` rewrites the expected messages.

use trybuild::TestCases;

#[test]
fn right_use_compiles_and_so_does_its_expansion() {
    let cases = TestCases::new();
    cases.pass("tests/expand/*.rs");
    cases.pass("tests/ui/pass/*.rs");
}

#[test]
fn every_mistake_is_reported_on_its_token_with_what_is_allowed() {
    let cases = TestCases::new();
    for theme in ["arguments", "signature", "event", "key"] {
        cases.compile_fail(format!("tests/ui/{theme}/*.rs"));
    }
}

// The traits and we choose the place and the remedy; the rest of the text is the compiler's and changes with it.
#[rustversion::attr(not(stable(1.95)), ignore = "the expected messages are those of Rust 1.95")]
#[test]
fn what_the_compiler_finds_is_reported_on_the_authors_own_code() {
    let cases = TestCases::new();
    for theme in ["bounds", "names"] {
        cases.compile_fail(format!("tests/ui/{theme}/*.rs"));
    }
}
