//! Reads the arguments of `#[event_handler(…)]`.

use std::time::Duration;

use proc_macro2::{Span, TokenStream};
use syn::ext::IdentExt;
use syn::parse::ParseStream;
use syn::{Ident, LitInt, Path, Signature, Token, Type, parenthesized};

use crate::arguments::{self, Argument, checked_text, expected, value};
use crate::diagnostics::Diagnostics;
use crate::{rules, types};

const ARGUMENTS: [Argument; 8] = [
    Argument { name: "name", form: "name = \"poster_sync\"" },
    Argument { name: "idempotency", form: "idempotency = Scenario` or `idempotency(skip = \"reason\")" },
    Argument { name: "timeout", form: "timeout = \"30s\"" },
    Argument { name: "max_attempts", form: "max_attempts = 5" },
    Argument { name: "lease", form: "lease = \"10m\"" },
    Argument { name: "on_dead", form: "on_dead = \"continue\"` or `on_dead = \"block\"" },
    Argument { name: "module", form: "module = other_name" },
    Argument { name: "crate", form: "crate = path::to::outbox" },
];

/// What an author wrote; `None` where nothing, or nothing right, was written.
pub(crate) struct HandlerArgs {
    pub(crate) name: Option<String>,
    pub(crate) idempotency: Option<Idempotency>,
    pub(crate) timeout: Option<Duration>,
    pub(crate) max_attempts: Option<u32>,
    pub(crate) lease: Option<Duration>,
    pub(crate) on_dead: Option<OnDead>,
    pub(crate) module: Option<Ident>,
    pub(crate) krate: Path,
}

/// How a handler's idempotency is checked.
#[derive(Clone)]
pub(crate) enum Idempotency {
    Scenario(Box<Type>),
    Skipped(String),
}

/// What a dead letter does to later events of its key.
#[derive(Clone, Copy)]
pub(crate) enum OnDead {
    Continue,
    Block,
}

impl Idempotency {
    /// Spelled as the generated module needs it.
    pub(crate) fn one_level_down(self) -> Self {
        match self {
            Self::Scenario(ty) => Self::Scenario(Box::new(types::one_level_down(*ty))),
            skipped @ Self::Skipped(_) => skipped,
        }
    }
}

impl HandlerArgs {
    /// Reads all arguments, and reports all mistakes in them.
    pub(crate) fn read(tokens: TokenStream, diagnostics: &mut Diagnostics) -> Self {
        let mut args = Self::none();
        let given = arguments::read_list(tokens, &ARGUMENTS, diagnostics, |argument, input| {
            args.read_one(argument, input)
        });
        if !given.contains("name") {
            let message = "a handler needs a name: `name = \"poster_sync\"`; the ledger knows it by that name, so choose \
                           one that stays when the function is moved or renamed";
            diagnostics.ok::<()>(Err(syn::Error::new(Span::call_site(), message)));
        }
        args
    }

    /// The name of the generated module.
    pub(crate) fn module_of(&self, sig: &Signature) -> Ident {
        self.module.clone().unwrap_or_else(|| sig.ident.clone())
    }

    fn none() -> Self {
        Self {
            name: None,
            idempotency: None,
            timeout: None,
            max_attempts: None,
            lease: None,
            on_dead: None,
            module: None,
            krate: arguments::default_crate(),
        }
    }

    fn read_one(&mut self, argument: &Argument, input: ParseStream<'_>) -> syn::Result<()> {
        match argument.name {
            "name" => self.name = Some(checked_text(input, argument, rules::handler_name)?),
            "idempotency" => self.idempotency = Some(idempotency(input, argument)?),
            "timeout" => self.timeout = Some(checked_text(input, argument, rules::duration)?),
            "max_attempts" => self.max_attempts = Some(max_attempts(input, argument)?),
            "lease" => self.lease = Some(checked_text(input, argument, rules::duration)?),
            "on_dead" => self.on_dead = Some(checked_text(input, argument, on_dead)?),
            "module" => self.module = Some(value(input, argument)?),
            _ => self.krate = arguments::path(input, argument)?,
        }
        Ok(())
    }
}

fn idempotency(input: ParseStream<'_>, argument: &Argument) -> syn::Result<Idempotency> {
    if input.peek(Token![=]) {
        return value(input, argument).map(|scenario| Idempotency::Scenario(Box::new(scenario)));
    }
    if !input.peek(syn::token::Paren) {
        return Err(expected(input, argument));
    }
    let content;
    parenthesized!(content in input);
    let skip = content.call(Ident::parse_any).ok().filter(|ident| ident == "skip");
    let reason = match skip {
        Some(_) => checked_text(&content, argument, rules::reason)?,
        None => return Err(expected(&content, argument)),
    };
    content.parse::<Option<Token![,]>>()?;
    if !content.is_empty() {
        return Err(expected(&content, argument));
    }
    Ok(Idempotency::Skipped(reason))
}

fn max_attempts(input: ParseStream<'_>, argument: &Argument) -> syn::Result<u32> {
    let literal: LitInt = value(input, argument)?;
    literal.base10_parse::<u32>().ok().filter(|attempts| *attempts > 0).ok_or_else(|| {
        syn::Error::new(literal.span(), format!("`max_attempts` is a whole number from 1 to {}", u32::MAX))
    })
}

fn on_dead(text: &str) -> Result<OnDead, String> {
    match text {
        "continue" => Ok(OnDead::Continue),
        "block" => Ok(OnDead::Block),
        _ => {
            Err("after a dead letter, later events of its key either \"continue\" or are \"block\"ed"
                .to_owned())
        }
    }
}
