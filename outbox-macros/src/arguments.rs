//! The list `name = value, name(…), …` that both macros take.

use std::collections::HashSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Ident, LitInt, LitStr, Path, Token};

use crate::diagnostics::Diagnostics;

/// One argument that an author may write.
pub(crate) struct Argument {
    pub(crate) name: &'static str,
    /// How it is written, for messages.
    pub(crate) form: &'static str,
}

/// Which arguments were given, right or wrong, so that a wrong one is not reported as missing, too.
#[derive(Default)]
pub(crate) struct Given {
    names: HashSet<&'static str>,
    unreadable: bool,
}

impl Given {
    /// Whether the argument is there, right or wrong.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.names.contains(name)
    }

    /// Whether the argument is missing for sure: nothing unreadable may have been meant for it.
    pub(crate) fn lacks(&self, name: &str) -> bool {
        !self.unreadable && !self.has(name)
    }
}

/// Reads every argument of a list; `read` gets those that exist.
///
/// A mistake ends only its own argument: reading goes on behind the next comma.
pub(crate) fn read_list(
    tokens: TokenStream,
    known: &'static [Argument],
    diagnostics: &mut Diagnostics,
    mut read: impl FnMut(Value<'_>) -> syn::Result<()>,
) -> Given {
    let mut given = Given::default();
    let parser = |input: ParseStream<'_>| {
        while !input.is_empty() {
            let result = read_one(input, known, &mut given, &mut read).and_then(|()| end_of_argument(input));
            if diagnostics.ok(result).is_none() {
                skip_argument(input)?;
            }
            input.parse::<Option<Token![,]>>()?;
        }
        Ok(())
    };
    let result = parser.parse2(tokens);
    diagnostics.ok(result);
    given
}

/// Where the generated code finds this library, unless `crate = path` says otherwise.
pub(crate) fn default_crate() -> Path {
    syn::parse_quote!(::outbox)
}

/// An argument whose name has been read, and whose value has not.
pub(crate) struct Value<'a> {
    pub(crate) argument: &'static Argument,
    /// The name as it stands in the source.
    name: &'a Ident,
    pub(crate) input: ParseStream<'a>,
}

impl Value<'_> {
    /// Reads `= value`.
    pub(crate) fn parse<T: Parse>(&self) -> syn::Result<T> {
        self.parse_by(T::parse)
    }

    /// Reads `= some::path`, in which `crate`, `self` and `super` are allowed.
    pub(crate) fn path(&self) -> syn::Result<Path> {
        self.parse_by(Path::parse_mod_style)
    }

    /// Reads `= "text"`, and passes the text through a rule.
    pub(crate) fn text<T>(&self, rule: impl FnOnce(&str) -> Result<T, String>) -> syn::Result<T> {
        let literal: LitStr = self.parse()?;
        rule(&literal.value()).map_err(|message| syn::Error::new(literal.span(), message))
    }

    /// Reads `= number`, from 1.
    pub(crate) fn count(&self) -> syn::Result<u32> {
        let literal: LitInt = self.parse()?;
        literal.base10_parse::<u32>().ok().filter(|count| *count > 0).ok_or_else(|| {
            let message = format!("`{}` is a whole number from 1 to {}", self.argument.name, u32::MAX);
            syn::Error::new(literal.span(), message)
        })
    }

    /// The same argument, read from within its parentheses.
    pub(crate) fn within<'b>(&'b self, input: ParseStream<'b>) -> Value<'b> {
        Value { argument: self.argument, name: self.name, input }
    }

    /// The mistake "something else stands here", or nothing does.
    pub(crate) fn expected(&self) -> syn::Error {
        let at = if self.input.is_empty() { self.name.span() } else { self.input.span() };
        syn::Error::new(at, format!("expected {}", self.argument.form))
    }

    fn parse_by<T>(&self, parse: fn(ParseStream<'_>) -> syn::Result<T>) -> syn::Result<T> {
        if !self.input.peek(Token![=]) {
            return Err(self.expected());
        }
        self.input.parse::<Token![=]>()?;
        let expected = self.expected();
        parse(self.input).map_err(|_| expected)
    }
}

fn read_one(
    input: ParseStream<'_>,
    known: &'static [Argument],
    given: &mut Given,
    read: &mut impl FnMut(Value<'_>) -> syn::Result<()>,
) -> syn::Result<()> {
    // `type` and `crate` are keywords, so the name is any identifier.
    let Ok(name) = input.call(Ident::parse_any) else {
        given.unreadable = true;
        return Err(input.error(format!("expected an argument: {}", forms(known))));
    };
    let Some(argument) = known.iter().find(|argument| name == argument.name) else {
        return Err(unknown(&name, known, given));
    };
    if !given.names.insert(argument.name) {
        return Err(syn::Error::new(name.span(), format!("`{name}` is given twice; once is allowed")));
    }
    read(Value { argument, name: &name, input })
}

fn unknown(name: &Ident, known: &'static [Argument], given: &mut Given) -> syn::Error {
    let message = match most_similar(&name.to_string(), known) {
        Some(meant) => {
            given.names.insert(meant.name);
            format!("there is no argument `{name}`; did you mean {}?", meant.form)
        }
        None => format!("there is no argument `{name}`; allowed are {}", forms(known)),
    };
    syn::Error::new(name.span(), message)
}

/// The argument that was misspelt, if it is recognizable.
fn most_similar(name: &str, known: &'static [Argument]) -> Option<&'static Argument> {
    const RECOGNIZABLE: f64 = 0.8;
    let similarity = |argument: &Argument| strsim::jaro_winkler(name, argument.name);
    let best = known.iter().max_by(|a, b| similarity(a).total_cmp(&similarity(b)))?;
    (similarity(best) >= RECOGNIZABLE).then_some(best)
}

fn end_of_argument(input: ParseStream<'_>) -> syn::Result<()> {
    if input.is_empty() || input.peek(Token![,]) {
        return Ok(());
    }
    Err(input.error("expected `,` or the end of the arguments"))
}

fn skip_argument(input: ParseStream<'_>) -> syn::Result<()> {
    while !input.is_empty() && !input.peek(Token![,]) {
        input.parse::<TokenTree>()?;
    }
    Ok(())
}

fn forms(known: &[Argument]) -> String {
    known.iter().map(|argument| argument.form).collect::<Vec<_>>().join(", ")
}
