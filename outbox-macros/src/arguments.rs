//! The list `name = value, name(…), …` that both macros take.

use std::collections::HashSet;

use proc_macro2::TokenStream;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream, Parser};
use syn::{Ident, LitStr, Path, Token};

use crate::diagnostics::Diagnostics;

/// One argument: how it is called and what an author may write.
pub(crate) struct Argument {
    pub(crate) name: &'static str,
    /// The form, as shown in messages.
    pub(crate) form: &'static str,
}

/// Reads every argument of a list; `read` gets each known one, positioned behind its name.
///
/// A mistake ends only its own argument: reading goes on behind the next comma. Answers which names were given,
/// right or wrong, so that a wrong argument is not reported as a missing one, too.
pub(crate) fn read_list(
    tokens: TokenStream,
    known: &[Argument],
    diagnostics: &mut Diagnostics,
    mut read: impl FnMut(&Argument, ParseStream<'_>) -> syn::Result<()>,
) -> HashSet<String> {
    let mut given = HashSet::new();
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

/// Reads `= value`.
pub(crate) fn value<T: Parse>(input: ParseStream<'_>, argument: &Argument) -> syn::Result<T> {
    value_by(input, argument, T::parse)
}

/// Reads `= "text"`, and passes the text through a rule.
pub(crate) fn checked_text<T>(
    input: ParseStream<'_>,
    argument: &Argument,
    rule: impl FnOnce(&str) -> Result<T, String>,
) -> syn::Result<T> {
    let literal: LitStr = value(input, argument)?;
    rule(&literal.value()).map_err(|message| syn::Error::new(literal.span(), message))
}

/// Where the generated code finds this library, unless `crate = path` says otherwise.
pub(crate) fn default_crate() -> Path {
    syn::parse_quote!(::outbox)
}

/// Reads `= some::path`, in which `crate`, `self` and `super` are allowed.
pub(crate) fn path(input: ParseStream<'_>, argument: &Argument) -> syn::Result<Path> {
    value_by(input, argument, Path::parse_mod_style)
}

fn value_by<T>(
    input: ParseStream<'_>,
    argument: &Argument,
    parse: fn(ParseStream<'_>) -> syn::Result<T>,
) -> syn::Result<T> {
    if !input.peek(Token![=]) {
        return Err(expected(input, argument));
    }
    input.parse::<Token![=]>()?;
    let start = input.fork();
    parse(input).map_err(|_| expected(&start, argument))
}

fn read_one(
    input: ParseStream<'_>,
    known: &[Argument],
    given: &mut HashSet<String>,
    read: &mut impl FnMut(&Argument, ParseStream<'_>) -> syn::Result<()>,
) -> syn::Result<()> {
    // `type` and `crate` are keywords, so the name is any identifier.
    let name = input.call(Ident::parse_any).map_err(|error| {
        syn::Error::new(error.span(), format!("expected an argument; {}", allowed(known)))
    })?;
    let Some(argument) = known.iter().find(|argument| name == argument.name) else {
        return Err(syn::Error::new(name.span(), format!("unknown argument `{name}`; {}", allowed(known))));
    };
    if !given.insert(name.to_string()) {
        return Err(syn::Error::new(name.span(), format!("`{name}` is given twice; once is allowed")));
    }
    read(argument, input)
}

/// The mistake "something else stands here".
pub(crate) fn expected(input: ParseStream<'_>, argument: &Argument) -> syn::Error {
    input.error(format!("expected `{}`", argument.form))
}

fn end_of_argument(input: ParseStream<'_>) -> syn::Result<()> {
    if input.is_empty() || input.peek(Token![,]) {
        return Ok(());
    }
    Err(input.error("expected `,` or the end of the arguments"))
}

fn skip_argument(input: ParseStream<'_>) -> syn::Result<()> {
    while !input.is_empty() && !input.peek(Token![,]) {
        input.parse::<proc_macro2::TokenTree>()?;
    }
    Ok(())
}

fn allowed(known: &[Argument]) -> String {
    let forms: Vec<String> = known.iter().map(|argument| format!("`{}`", argument.form)).collect();
    format!("allowed are {}", forms.join(", "))
}
