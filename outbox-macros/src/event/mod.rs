//! `#[derive(Event)]`: the attribute and the type are read, checked, and expanded into an implementation of `Event`.

mod args;
mod expand;
mod key;

use proc_macro2::TokenStream;
use quote::quote;
use syn::DeriveInput;

use crate::diagnostics::Diagnostics;
use args::EventArgs;
use expand::Event;

/// The implementation, or every mistake and a stub of it.
pub(crate) fn derive(input: TokenStream) -> TokenStream {
    let input: DeriveInput = match syn::parse2(input) {
        Ok(input) => input,
        Err(error) => return error.to_compile_error(),
    };
    let mut diagnostics = Diagnostics::new();
    let args = EventArgs::read(&input, &mut diagnostics);
    let is_concrete = is_concrete(&input, &mut diagnostics);
    let key = args.key.as_ref().map(|key| key::field(key, &input.data)).transpose();
    let event = diagnostics.ok(key).and_then(|key| event(&input, &args, key));
    match diagnostics.finish(event) {
        Ok(event) => expand::implementation(&event),
        // A stub of a generic type would fail for its own reasons.
        Err(mistakes) if !is_concrete => mistakes,
        Err(mistakes) => {
            let stub = expand::stub(&input.ident, &args.krate);
            quote!(#mistakes #stub)
        }
    }
}

/// Puts the parts together; `None` without the one that has to be there.
fn event<'a>(input: &'a DeriveInput, args: &'a EventArgs, key: Option<TokenStream>) -> Option<Event<'a>> {
    Some(Event {
        ident: &input.ident,
        krate: &args.krate,
        event_type: args.event_type.as_deref()?,
        version: args.version.unwrap_or(1),
        key,
        upcast: args.upcast.as_ref(),
    })
}

/// A stored payload has one shape, so an event's type has no parameters.
fn is_concrete(input: &DeriveInput, diagnostics: &mut Diagnostics) -> bool {
    let generics = &input.generics;
    if generics.params.is_empty() {
        return true;
    }
    let message =
        "an event has no type or lifetime parameters: one event type stands for one shape of payload";
    diagnostics.error(&generics.params, message);
    false
}
