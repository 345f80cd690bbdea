//! Every mistake of one macro call, so that all of them are reported at once.

use std::fmt::Display;

use proc_macro2::TokenStream;
use quote::ToTokens;

/// Collects mistakes while the input is read, and is asked for them once, at the end.
///
/// # Panics
///
/// When dropped without being asked: a mistake that nobody reports would let wrong input compile.
pub(crate) struct Diagnostics {
    errors: Vec<syn::Error>,
    asked: bool,
}

impl Diagnostics {
    pub(crate) fn new() -> Self {
        Self { errors: Vec::new(), asked: false }
    }

    /// Reports a mistake on the tokens that hold it. The message says what is allowed.
    pub(crate) fn error(&mut self, at: impl ToTokens, message: impl Display) {
        self.errors.push(syn::Error::new_spanned(at, message));
    }

    /// Takes a parser's result; its error, if that is what it is, joins the others.
    pub(crate) fn ok<T>(&mut self, result: syn::Result<T>) -> Option<T> {
        result.map_err(|error| self.errors.push(error)).ok()
    }

    /// Ends the collection: `result` if nothing was wrong, else one `compile_error!` per mistake.
    ///
    /// # Panics
    ///
    /// When there is neither a result nor a mistake, which is a bug of this crate.
    pub(crate) fn finish<T>(mut self, result: Option<T>) -> Result<T, TokenStream> {
        self.asked = true;
        if self.errors.is_empty() {
            return Ok(result.expect("input without a mistake has a result"));
        }
        Err(self.errors.iter().map(syn::Error::to_compile_error).collect())
    }
}

impl Drop for Diagnostics {
    fn drop(&mut self) {
        assert!(self.asked || std::thread::panicking(), "mistakes were collected and not reported");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[should_panic(expected = "not reported")]
    fn mistakes_cannot_be_forgotten() {
        let _forgotten = Diagnostics::new();
    }

    #[test]
    fn all_mistakes_are_reported_in_order() {
        let mut diagnostics = Diagnostics::new();
        diagnostics.error(quote::quote!(a), "first");
        assert!(diagnostics.ok(syn::parse_str::<syn::Ident>("1")).is_none());
        let errors = diagnostics.finish(Some(())).unwrap_err().to_string();
        assert_eq!(errors.matches("compile_error").count(), 2);
        assert!(errors.find("first") < errors.find("expected identifier"), "{errors}");
    }

    #[test]
    fn without_a_mistake_there_is_a_result() {
        assert_eq!(Diagnostics::new().finish(Some(5)).unwrap(), 5);
    }
}
