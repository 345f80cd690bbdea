//! Reads `#[event(…)]`.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Attribute, DeriveInput, LitStr, Meta, Path};

use crate::arguments::{self, Argument, Value};
use crate::diagnostics::Diagnostics;
use crate::rules;

const ARGUMENTS: &[Argument] = &[
    Argument { name: "type", form: "`type = \"movie.added\"`" },
    Argument { name: "version", form: "`version = 1`" },
    Argument { name: "key", form: "`key = \"movie_id\"`" },
    Argument { name: "upcast", form: "`upcast = path::to::function`" },
    Argument { name: "crate", form: "`crate = path::to::outbox`" },
];

/// What an author wrote; `None` where nothing, or nothing right, was written.
pub(crate) struct EventArgs {
    pub(crate) event_type: Option<String>,
    pub(crate) version: Option<u32>,
    pub(crate) key: Option<LitStr>,
    pub(crate) upcast: Option<Path>,
    pub(crate) krate: Path,
}

impl EventArgs {
    /// Reads all `#[event(…)]` of a type as one list, and reports all mistakes in them.
    pub(crate) fn read(input: &DeriveInput, diagnostics: &mut Diagnostics) -> Self {
        let mut args = Self {
            event_type: None,
            version: None,
            key: None,
            upcast: None,
            krate: arguments::default_crate(),
        };
        let tokens = diagnostics.ok(list(&input.attrs));
        let is_list = tokens.is_some();
        let given = arguments::read_list(tokens.unwrap_or_default(), ARGUMENTS, diagnostics, |value| {
            args.read_one(&value)
        });
        if is_list && given.lacks("type") {
            let message = "an event needs a type: add `#[event(type = \"movie.added\")]`; it is stored and sent under that \
                           name, so choose one that stays when the Rust type is renamed";
            diagnostics.error(&input.ident, message);
        }
        let version_is_first = given.lacks("version") || args.version == Some(1);
        if let Some(upcast) = args.upcast.as_ref().filter(|_| version_is_first) {
            let message = "`upcast` is for payloads of a lower version, and there is none below 1: set `version` to 2 or more";
            diagnostics.error(upcast, message);
        }
        args
    }

    fn read_one(&mut self, value: &Value<'_>) -> syn::Result<()> {
        match value.argument.name {
            "type" => self.event_type = Some(value.text(rules::event_type)?),
            "version" => self.version = Some(value.count()?),
            "key" => self.key = Some(value.parse()?),
            "upcast" => self.upcast = Some(value.path()?),
            _ => self.krate = value.path()?,
        }
        Ok(())
    }
}

/// The contents of all `#[event(…)]` as one list.
fn list(attributes: &[Attribute]) -> syn::Result<TokenStream> {
    let mut tokens = TokenStream::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("event")) {
        match &attribute.meta {
            Meta::List(list) if tokens.is_empty() => tokens = list.tokens.clone(),
            Meta::List(list) => {
                let more = &list.tokens;
                tokens.extend(quote!(, #more));
            }
            Meta::Path(_) => {}
            Meta::NameValue(value) => {
                return Err(syn::Error::new_spanned(value, "expected `event(type = \"movie.added\")`"));
            }
        }
    }
    Ok(tokens)
}
