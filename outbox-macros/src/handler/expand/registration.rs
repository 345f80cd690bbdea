//! `HANDLER`, and its place in the registry.

use std::time::Duration;

use proc_macro2::{Literal, TokenStream};
use quote::{quote, quote_spanned};
use syn::spanned::Spanned;

use super::run;
use crate::handler::args::{Idempotency, OnDead};
use crate::handler::model::Handler;

/// The static, and its submission to the registry.
///
/// All of it is one item, since the compiler reports a type that does not fit once per item that names it.
pub(super) fn items(handler: &Handler) -> TokenStream {
    let Handler { krate, name, event, .. } = handler;
    let event = &event.ty;
    let about = format!(" The handler `{name}`, as the registry knows it.");
    let run = run::binding(handler);
    let location = location(handler);
    let needs = needs(handler);
    let transaction = transaction(handler);
    let terms = terms(handler);
    let check = check(handler);
    // Deprecated is its use by others; the worker goes on calling it.
    let allow = handler.is_deprecated.then(|| quote!(#[allow(deprecated)]));
    quote! {
        #[doc = #about]
        #allow
        pub static HANDLER: #krate::Handler = {
            #run
            #krate::Handler::new::<#event>(#name, run)
                #location
                #needs
                #transaction
                #terms
                #check
        };

        #krate::__private::inventory::submit! { #krate::Registration(&HANDLER) }
    }
}

/// The function's own line, not that of the attribute.
fn location(handler: &Handler) -> TokenStream {
    quote_spanned!(handler.function.span()=> .location(file!(), line!(), module_path!()))
}

fn needs(handler: &Handler) -> Option<TokenStream> {
    let krate = &handler.krate;
    let needs: Vec<_> = handler
        .extracted()
        .map(|argument| {
            let ty = &argument.ty;
            quote_spanned!(ty.span()=> <#ty as #krate::FromDelivery>::need)
        })
        .collect();
    (!needs.is_empty()).then(|| quote!(.needs(&[#(#needs),*])))
}

fn transaction(handler: &Handler) -> Option<TokenStream> {
    let krate = &handler.krate;
    let ty = &handler.transaction()?.ty;
    Some(quote!(.transaction(#krate::TransactionType::of::<#ty>())))
}

fn terms(handler: &Handler) -> TokenStream {
    let krate = &handler.krate;
    let timeout = handler.timeout.map(|timeout| {
        let timeout = duration(timeout);
        quote!(.timeout(#timeout))
    });
    let max_attempts = handler.max_attempts.map(|max_attempts| {
        let max_attempts = Literal::u32_unsuffixed(max_attempts);
        quote!(.max_attempts(#max_attempts))
    });
    let lease = handler.lease.map(|lease| {
        let lease = duration(lease);
        quote!(.lease(#lease))
    });
    let on_dead = handler.on_dead.map(|on_dead| match on_dead {
        OnDead::Continue => quote!(.on_dead(#krate::OnDead::Continue)),
        OnDead::Block => quote!(.on_dead(#krate::OnDead::Block)),
    });
    quote!(#timeout #max_attempts #lease #on_dead)
}

/// In whole seconds where possible, since that is what most authors write.
fn duration(duration: Duration) -> TokenStream {
    if duration.subsec_millis() == 0 {
        let seconds = Literal::u64_unsuffixed(duration.as_secs());
        return quote!(::core::time::Duration::from_secs(#seconds));
    }
    let milliseconds = Literal::u128_unsuffixed(duration.as_millis());
    quote!(::core::time::Duration::from_millis(#milliseconds))
}

fn check(handler: &Handler) -> TokenStream {
    let krate = &handler.krate;
    match &handler.idempotency {
        Some(Idempotency::Scenario(_)) => quote!(.check(#krate::IdempotencyCheck::Scenario)),
        Some(Idempotency::Skipped(reason)) => quote!(.check(#krate::IdempotencyCheck::Skipped(#reason))),
        None => quote!(.check(#krate::IdempotencyCheck::Missing)),
    }
}
