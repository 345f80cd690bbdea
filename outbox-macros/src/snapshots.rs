//! The expansion as a reader of `cargo expand` sees it, compared with the files in `tests/expand`.
//!
//! `BLESS=1 cargo test -p outbox-macros` rewrites those files. The inputs are whole programs, which `tests/ui.rs`
//! compiles, as it does the expansions.

use std::path::{Path, PathBuf};
use std::{env, fs};

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::punctuated::Punctuated;
use syn::{Attribute, Item, Meta, Token, parse_quote};

use crate::{event, handler};

#[test]
fn the_expansion_is_what_the_snapshots_show() {
    let inputs = inputs();
    assert!(!inputs.is_empty(), "no inputs in {}", directory().display());
    let outdated: Vec<String> = inputs.iter().filter_map(|input| compare(input)).collect();
    assert!(outdated.is_empty(), "run with BLESS=1 if this is meant:\n{}", outdated.join("\n"));
}

#[test]
fn the_guide_shows_what_is_generated() {
    let expanded = expand_file(&fs::read_to_string(directory().join("guide.input.rs")).unwrap());
    let start = expanded.find("/// Registration and checks").expect("the module is documented");
    let module = expanded[start..].strip_suffix("fn main() {}\n").expect("`main` is the last item");
    let guide = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/handlers.md");
    let guide = fs::read_to_string(guide).expect("the guide can be read");
    assert!(guide.contains(module), "docs/handlers.md does not show\n{module}");
}

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/expand")
}

fn inputs() -> Vec<PathBuf> {
    let entries = fs::read_dir(directory()).expect("tests/expand can be read");
    let paths = entries.map(|entry| entry.expect("tests/expand can be read").path());
    let mut inputs: Vec<_> = paths.filter(|path| path.to_string_lossy().ends_with(".input.rs")).collect();
    inputs.sort();
    inputs
}

/// What differs, or nothing.
fn compare(input: &Path) -> Option<String> {
    let snapshot = PathBuf::from(input.to_string_lossy().replace(".input.rs", ".expanded.rs"));
    let expanded = expand_file(&fs::read_to_string(input).expect("the input can be read"));
    if env::var_os("BLESS").is_some() {
        fs::write(&snapshot, expanded).expect("the snapshot can be written");
        return None;
    }
    let expected = fs::read_to_string(&snapshot).unwrap_or_default();
    (expanded != expected).then(|| format!("{}: is now\n{expanded}", snapshot.display()))
}

/// Expands our macros in a source file, and leaves everything else.
fn expand_file(source: &str) -> String {
    let mut file = syn::parse_file(source).expect("the input is Rust");
    file.items = file.items.into_iter().flat_map(expand_item).collect();
    prettyplease::unparse(&file)
}

fn expand_item(item: Item) -> Vec<Item> {
    match item {
        Item::Fn(mut function) => {
            let Some(at) = function.attrs.iter().position(|attr| is_called(attr.path(), "event_handler"))
            else {
                return vec![Item::Fn(function)];
            };
            let attribute = function.attrs.remove(at);
            let args = attribute.meta.require_list().expect("the attribute has arguments").tokens.clone();
            items(handler::event_handler(args, function.into_token_stream()))
        }
        Item::Struct(mut event) => {
            if !take_derive_event(&mut event.attrs) {
                return vec![Item::Struct(event)];
            }
            let implementation = event::derive(event.to_token_stream());
            event.attrs.retain(|attr| !attr.path().is_ident("event"));
            items(quote!(#event #implementation))
        }
        other => vec![other],
    }
}

/// Takes `Event` out of the derives; whether it was there.
fn take_derive_event(attributes: &mut [Attribute]) -> bool {
    let mut found = false;
    for attribute in attributes.iter_mut().filter(|attr| attr.path().is_ident("derive")) {
        let derives: Punctuated<Meta, Token![,]> =
            attribute.parse_args_with(Punctuated::parse_terminated).expect("derives are paths");
        let others = derives.iter().filter(|derive| !is_called(derive.path(), "Event"));
        found |= others.clone().count() < derives.len();
        *attribute = parse_quote!(#[derive(#(#others),*)]);
    }
    found
}

fn is_called(path: &syn::Path, name: &str) -> bool {
    path.segments.last().is_some_and(|segment| segment.ident == name)
}

fn items(tokens: TokenStream) -> Vec<Item> {
    syn::parse2::<syn::File>(tokens).expect("the expansion is a list of items").items
}
