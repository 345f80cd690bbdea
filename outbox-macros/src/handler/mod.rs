//! `#[event_handler]`: arguments and function are read, checked, and expanded into the function's module.

mod args;
mod check;
mod expand;
mod item;
mod model;
mod variables;

use proc_macro2::TokenStream;
use quote::quote;

use crate::diagnostics::Diagnostics;
use args::HandlerArgs;
use item::HandlerItem;

/// The function as it was written, followed by its module, or by every mistake and a stub of the module.
pub(crate) fn event_handler(args: TokenStream, function: TokenStream) -> TokenStream {
    let mut diagnostics = Diagnostics::new();
    let args = HandlerArgs::read(args, &mut diagnostics);
    let item = HandlerItem::read(function.clone(), &mut diagnostics);
    let handler = item.as_ref().and_then(|item| check::handler(&args, item, &mut diagnostics));
    let generated = match diagnostics.finish(handler) {
        Ok(handler) => expand::module(&handler),
        Err(mistakes) => {
            let stub = item.filter(HandlerItem::is_free).map(|item| expand::stub(&args, &item));
            quote!(#mistakes #stub)
        }
    };
    quote!(#function #generated)
}
