//! Reads the arguments of `#[event_handler(…)]`.

use std::time::Duration;

use proc_macro2::{Span, TokenStream};
use syn::ext::IdentExt;
use syn::{Ident, Path, Signature, Token, Type, parenthesized};

use crate::arguments::{self, Argument, Value};
use crate::diagnostics::Diagnostics;
use crate::{rules, types};

const ARGUMENTS: &[Argument] = &[
    Argument { name: "name", form: "`name = \"poster_sync\"`" },
    Argument { name: "idempotency", form: "`idempotency = Scenario` or `idempotency(skip = \"reason\")`" },
    Argument { name: "timeout", form: "`timeout = \"30s\"`" },
    Argument { name: "max_attempts", form: "`max_attempts = 5`" },
    Argument { name: "lease", form: "`lease = \"10m\"`" },
    Argument { name: "on_dead", form: "`on_dead = \"continue\"` or `on_dead = \"block\"`" },
    Argument { name: "module", form: "`module = other_name`" },
    Argument { name: "crate", form: "`crate = path::to::outbox`" },
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
        let given = arguments::read_list(tokens, ARGUMENTS, diagnostics, |value| args.read_one(&value));
        if given.lacks("name") {
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

    fn read_one(&mut self, value: &Value<'_>) -> syn::Result<()> {
        match value.argument.name {
            "name" => self.name = Some(value.text(rules::handler_name)?),
            "idempotency" => self.idempotency = Some(idempotency(value)?),
            "timeout" => self.timeout = Some(value.text(rules::duration)?),
            "max_attempts" => self.max_attempts = Some(value.count()?),
            "lease" => self.lease = Some(value.text(rules::lease)?),
            "on_dead" => self.on_dead = Some(value.text(on_dead)?),
            "module" => self.module = Some(value.parse()?),
            _ => self.krate = value.path()?,
        }
        Ok(())
    }
}

fn idempotency(value: &Value<'_>) -> syn::Result<Idempotency> {
    if !value.input.peek(syn::token::Paren) {
        return value.parse().map(|scenario| Idempotency::Scenario(Box::new(scenario)));
    }
    let content;
    parenthesized!(content in value.input);
    let reason = skip_reason(&value.within(&content));
    if reason.is_err() {
        // What is left unread would be a second mistake.
        content.parse::<TokenStream>()?;
    }
    reason.map(Idempotency::Skipped)
}

/// Reads `skip = "reason"`.
fn skip_reason(inner: &Value<'_>) -> syn::Result<String> {
    let expected = inner.expected();
    if !inner.input.call(Ident::parse_any).is_ok_and(|ident| ident == "skip") {
        return Err(expected);
    }
    let reason = inner.text(rules::reason)?;
    inner.input.parse::<Option<Token![,]>>()?;
    if inner.input.is_empty() { Ok(reason) } else { Err(inner.expected()) }
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
