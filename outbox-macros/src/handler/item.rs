//! Reads the annotated function. Its body is not looked at: that is the compiler's part.

use proc_macro2::{TokenStream, TokenTree};
use syn::parse::{ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::{Attribute, Meta, Signature, Token, Visibility, parse_quote};

use crate::diagnostics::Diagnostics;

/// The parts of the function that its module depends on.
pub(crate) struct HandlerItem {
    /// The `cfg`s of the function, which hold for its module, too.
    pub(crate) cfgs: Vec<Attribute>,
    pub(crate) is_deprecated: bool,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
}

impl HandlerItem {
    /// Reads a function up to its body; anything else is a mistake.
    pub(crate) fn read(tokens: TokenStream, diagnostics: &mut Diagnostics) -> Option<Self> {
        diagnostics.ok(Self::parse.parse2(tokens))
    }

    /// Whether a module can stand beside the function, which is not so within an `impl` or a trait.
    pub(crate) fn is_free(&self) -> bool {
        self.sig.receiver().is_none()
    }

    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attributes = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        let start = input.fork();
        let sig = input
            .parse::<Signature>()
            .map_err(|_| start.error("`#[event_handler]` goes on an `async fn` at module level"))?;
        if !input.peek(syn::token::Brace) {
            return Err(input.error("a handler has a body"));
        }
        input.parse::<TokenTree>()?;
        let is_deprecated = attributes.iter().any(|attribute| attribute.path().is_ident("deprecated"));
        Ok(Self { cfgs: cfgs(&attributes), is_deprecated, vis, sig })
    }
}

/// The attributes that decide whether an item exists at all.
fn cfgs(attributes: &[Attribute]) -> Vec<Attribute> {
    attributes
        .iter()
        .filter_map(|attribute| cfg_only(&attribute.meta))
        .map(|meta| parse_quote!(#[#meta]))
        .collect()
}

/// `cfg(…)` itself, or a `cfg_attr(predicate, …)` reduced to the `cfg`s in it: whatever else it holds is meant for the
/// function.
fn cfg_only(meta: &Meta) -> Option<Meta> {
    if meta.path().is_ident("cfg") {
        return Some(meta.clone());
    }
    if !meta.path().is_ident("cfg_attr") {
        return None;
    }
    let (predicate, attributes) = meta.require_list().ok()?.parse_args_with(predicate_and_attributes).ok()?;
    let cfgs: Vec<Meta> = attributes.iter().filter_map(cfg_only).collect();
    (!cfgs.is_empty()).then(|| parse_quote!(cfg_attr(#predicate, #(#cfgs),*)))
}

/// The predicate stays tokens, since it may be `true`, which is no attribute.
fn predicate_and_attributes(
    input: ParseStream<'_>,
) -> syn::Result<(TokenStream, Punctuated<Meta, Token![,]>)> {
    let mut predicate = TokenStream::new();
    while !input.is_empty() && !input.peek(Token![,]) {
        predicate.extend([input.parse::<TokenTree>()?]);
    }
    input.parse::<Token![,]>()?;
    Ok((predicate, Punctuated::parse_terminated(input)?))
}

#[cfg(test)]
mod tests {
    use quote::{ToTokens, quote};

    use super::*;

    #[test]
    fn only_what_decides_about_existence_is_passed_on() {
        let attributes = Attribute::parse_outer
            .parse2(quote! {
                /// Documentation.
                #[cfg(unix)]
                #[cfg_attr(test, allow(dead_code))]
                #[cfg_attr(true, cfg(windows))]
                #[cfg_attr(test, inline, cfg(feature = "x"), cfg_attr(unix, must_use, cfg(windows)))]
                #[must_use]
            })
            .unwrap();
        let passed_on: TokenStream = cfgs(&attributes).iter().map(ToTokens::to_token_stream).collect();
        let expected = quote! {
            #[cfg(unix)]
            #[cfg_attr(true, cfg(windows))]
            #[cfg_attr(test, cfg(feature = "x"), cfg_attr(unix, cfg(windows)))]
        };
        assert_eq!(passed_on.to_string(), expected.to_string());
    }
}
