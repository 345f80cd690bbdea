//! Names of the generated code's variables: those of the function's own arguments, where that reads well.

use std::collections::HashSet;

use proc_macro2::Span;
use quote::format_ident;
use syn::ext::IdentExt;
use syn::{Ident, Pat};

/// Variables that the generated code has beside the arguments.
const OURS: [&str; 6] = ["run", "claim", "call", "tx", "result", "failure"];

/// Gives each argument a variable of its own.
#[derive(Default)]
pub(crate) struct Variables {
    taken: HashSet<String>,
}

impl Variables {
    /// The variable for the argument at `position`: the pattern's name, unless it has none or another one has it.
    pub(crate) fn name(&mut self, pat: &Pat, position: usize) -> Ident {
        let name = only_name(pat).filter(|name| self.is_free(name)).unwrap_or_else(|| numbered(position));
        self.taken.insert(name.to_string());
        name
    }

    /// The variable of the transaction.
    pub(crate) fn transaction() -> Ident {
        Ident::new("tx", Span::call_site())
    }

    fn is_free(&self, name: &Ident) -> bool {
        let text = name.to_string();
        !OURS.contains(&text.as_str()) && !self.taken.contains(&text)
    }
}

/// The name that a pattern such as `posters`, `mut posters` or `State(posters)` binds.
fn only_name(pat: &Pat) -> Option<Ident> {
    match pat {
        Pat::Ident(pat) => variable(&pat.ident),
        Pat::TupleStruct(pat) if pat.elems.len() == 1 => only_name(pat.elems.first()?),
        Pat::Paren(pat) => only_name(&pat.pat),
        _ => None,
    }
}

fn variable(ident: &Ident) -> Option<Ident> {
    let name = ident.unraw().to_string();
    // `_event` says that the function does not use it; the generated code does.
    let name = name.trim_start_matches('_');
    // A pattern may hold the name of a constant or unit struct.
    let is_lower_case = name.starts_with(|first: char| !first.is_uppercase());
    // What is left may be a keyword, or nothing.
    syn::parse_str::<Ident>(name).ok().filter(|_| is_lower_case)
}

fn numbered(position: usize) -> Ident {
    if position == 0 {
        Ident::new("event", Span::call_site())
    } else {
        format_ident!("argument_{}", position + 1)
    }
}

#[cfg(test)]
mod tests {
    use syn::parse::Parser;

    use super::*;

    fn names<const N: usize>(patterns: [&str; N]) -> [String; N] {
        let mut variables = Variables::default();
        let mut position = 0;
        patterns.map(|pattern| {
            let pat = Pat::parse_single.parse_str(pattern).unwrap();
            position += 1;
            variables.name(&pat, position - 1).to_string()
        })
    }

    #[test]
    fn variables_are_called_like_the_arguments() {
        assert_eq!(names(["movie", "State(posters)", "mut delivery"]), ["movie", "posters", "delivery"]);
        assert_eq!(names(["_event", "State(_posters)"]), ["event", "posters"]);
    }

    #[test]
    fn patterns_without_one_plain_name_are_numbered() {
        assert_eq!(names(["Movie { id, title }", "_", "(a, b)"]), ["event", "argument_2", "argument_3"]);
        assert_eq!(names(["r#type", "State(UNIT)", "__"]), ["event", "argument_2", "argument_3"]);
    }

    #[test]
    fn no_two_variables_have_one_name() {
        assert_eq!(
            names(["event", "State(event)", "State(claim)", "tx"]),
            ["event", "argument_2", "argument_3", "argument_4"]
        );
        assert_eq!(names(["Movie { id }", "event"]), ["event", "argument_2"]);
    }
}
