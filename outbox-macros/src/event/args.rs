//! Reads `#[event(…)]`.

use proc_macro2::TokenStream;
use quote::ToTokens;
use syn::parse::ParseStream;
use syn::{DeriveInput, LitInt, LitStr, Meta, Path};

use crate::arguments::{self, Argument, checked_text, value};
use crate::diagnostics::Diagnostics;
use crate::rules;

const ARGUMENTS: [Argument; 5] = [
    Argument { name: "type", form: "type = \"movie.added\"" },
    Argument { name: "version", form: "version = 1" },
    Argument { name: "key", form: "key = \"movie_id\"" },
    Argument { name: "upcast", form: "upcast = path::to::function" },
    Argument { name: "crate", form: "crate = path::to::outbox" },
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
        let tokens = attribute_tokens(input, diagnostics);
        let given = arguments::read_list(tokens, &ARGUMENTS, diagnostics, |argument, input| {
            args.read_one(argument, input)
        });
        if !given.contains("type") {
            let message = "an event needs a type: add `#[event(type = \"movie.added\")]`; it is stored and sent under that \
                           name, so choose one that stays when the Rust type is renamed";
            diagnostics.error(&input.ident, message);
        }
        let version_is_first = !given.contains("version") || args.version == Some(1);
        if let Some(upcast) = args.upcast.as_ref().filter(|_| version_is_first) {
            let message = "`upcast` is for payloads of a lower version, and there is none below 1: set `version` to 2 or more";
            diagnostics.error(upcast, message);
        }
        args
    }

    fn read_one(&mut self, argument: &Argument, input: ParseStream<'_>) -> syn::Result<()> {
        match argument.name {
            "type" => self.event_type = Some(checked_text(input, argument, rules::event_type)?),
            "version" => self.version = Some(version(input, argument)?),
            "key" => self.key = Some(value(input, argument)?),
            "upcast" => self.upcast = Some(arguments::path(input, argument)?),
            _ => self.krate = arguments::path(input, argument)?,
        }
        Ok(())
    }
}

fn attribute_tokens(input: &DeriveInput, diagnostics: &mut Diagnostics) -> TokenStream {
    let mut tokens = TokenStream::new();
    for attribute in input.attrs.iter().filter(|attribute| attribute.path().is_ident("event")) {
        if let Meta::List(list) = &attribute.meta {
            if !tokens.is_empty() {
                <syn::Token![,]>::default().to_tokens(&mut tokens);
            }
            tokens.extend(list.tokens.clone());
        } else {
            diagnostics.error(attribute, "expected `#[event(type = \"movie.added\")]`");
        }
    }
    tokens
}

fn version(input: ParseStream<'_>, argument: &Argument) -> syn::Result<u32> {
    let literal: LitInt = value(input, argument)?;
    literal.base10_parse::<u32>().ok().filter(|version| *version > 0).ok_or_else(|| {
        syn::Error::new(literal.span(), format!("`version` is a whole number from 1 to {}", u32::MAX))
    })
}
