//! A run: claim, call, done or release.

use proc_macro2::{Ident, TokenStream};
use quote::{quote, quote_spanned};

use crate::handler::model::Handler;
use crate::types::generated_at;

/// `run`, which a worker calls for each delivery.
pub(super) fn binding(handler: &Handler) -> TokenStream {
    let krate = &handler.krate;
    let begin = begin(handler);
    let call = call(handler);
    let (done, release) = ends(handler);
    // On the function's name, so that a future that is not `Send` is reported there.
    let closure = quote_spanned! {generated_at(&handler.function)=>
        |run| {
            ::std::boxed::Box::pin(async move {
                let claim = run.claim().await?;
                #begin
                #call
                match claim.guard(call).await {
                    Ok(()) => #done,
                    Err(failure) => #release,
                }
            })
        }
    };
    quote!(let run: fn(#krate::HandlerRun) -> #krate::RunFuture = #closure;)
}

fn begin(handler: &Handler) -> Option<TokenStream> {
    let transaction = handler.transaction()?;
    let (variable, ty) = (&transaction.variable, &transaction.ty);
    Some(quote!(let mut #variable = claim.begin::<#ty>().await?;))
}

/// The future of the user's function. What its arguments need may fail, too, and is then the attempt's failure.
fn call(handler: &Handler) -> TokenStream {
    let Handler { krate, function, event, returns, .. } = handler;
    let (event, event_type) = (&event.variable, &event.ty);
    let extracted = handler.extracted().map(|argument| {
        let (variable, ty) = (&argument.variable, &argument.ty);
        quote!(let #variable = claim.arg::<#ty>()?;)
    });
    let passed = handler.arguments.iter().map(|argument| {
        let variable = &argument.variable;
        if argument.is_transaction { quote!(&mut #variable) } else { quote!(#variable) }
    });
    // On the return type, so that a result that does not fit is reported there.
    let result = Ident::new("result", generated_at(returns));
    quote! {
        let call = async {
            let #event = claim.event::<#event_type>()?;
            #(#extracted)*
            let #result = super::#function(#event #(, #passed)*).await;
            #krate::IntoHandlerResult::into_handler_result(#result)
        };
    }
}

fn ends(handler: &Handler) -> (TokenStream, TokenStream) {
    match handler.transaction() {
        Some(transaction) => {
            let tx = &transaction.variable;
            (quote!(claim.commit(#tx).await), quote!(claim.rollback(#tx, failure).await))
        }
        None => (quote!(claim.done().await), quote!(claim.release(failure).await)),
    }
}
