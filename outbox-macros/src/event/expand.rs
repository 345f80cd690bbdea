//! The implementation of `Event`.

use proc_macro2::{Literal, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;
use syn::{Ident, Path};

/// An event without a mistake.
pub(crate) struct Event<'a> {
    pub(crate) ident: &'a Ident,
    pub(crate) krate: &'a Path,
    pub(crate) event_type: &'a str,
    pub(crate) version: u32,
    /// The path to the key's field.
    pub(crate) key: Option<TokenStream>,
    pub(crate) upcast: Option<&'a Path>,
}

/// `impl Event for …`.
pub(crate) fn implementation(event: &Event<'_>) -> TokenStream {
    let Event { ident, krate, event_type, .. } = event;
    let version = Literal::u32_unsuffixed(event.version);
    let key = event.key.as_ref().map(|field| key(field, krate));
    let upcast = event.upcast.map(|function| upcast(function, krate));
    quote! {
        #[automatically_derived]
        impl #krate::Event for #ident {
            const TYPE: &'static str = #event_type;
            const VERSION: u32 = #version;
            #key
            #upcast
        }
    }
}

/// What stands in for the implementation when there is a mistake, so that code that uses the event does not fail, too.
pub(crate) fn stub(ident: &Ident, krate: &Path) -> TokenStream {
    quote! {
        #[automatically_derived]
        impl #krate::Event for #ident {
            const TYPE: &'static str = "invalid";
        }
    }
}

fn key(field: &TokenStream, krate: &Path) -> TokenStream {
    // On the literal, so that a field that cannot be a key is reported there.
    let event_key = quote_spanned!(field.span()=> #krate::EventKey::event_key(&self.#field));
    quote! {
        fn key(&self) -> ::core::option::Option<::std::string::String> {
            #event_key
        }
    }
}

fn upcast(function: &Path, krate: &Path) -> TokenStream {
    // On the function's path, so that a wrong signature is reported there.
    let call = quote_spanned!(function.span()=> #function(version, payload));
    quote! {
        fn upcast(
            version: u32,
            payload: #krate::__private::serde_json::Value,
        ) -> ::core::result::Result<#krate::__private::serde_json::Value, #krate::UpcastError> {
            #call
        }
    }
}
