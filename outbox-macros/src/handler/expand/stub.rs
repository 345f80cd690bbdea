//! What stands in for the module of a function with a mistake.

use proc_macro2::TokenStream;
use quote::quote;

use crate::handler::args::HandlerArgs;
use crate::handler::item::HandlerItem;
use crate::types::path_one_level_down;

/// A module with a `HANDLER`, so that code that names it does not fail, too. It never runs: the mistake itself fails
/// the build.
pub(crate) fn stub(args: &HandlerArgs, item: &HandlerItem) -> TokenStream {
    let HandlerItem { cfgs, vis, sig, .. } = item;
    let module = args.module_of(sig);
    let krate = path_one_level_down(args.krate.clone());
    quote! {
        #(#cfgs)*
        #[doc(hidden)]
        #vis mod #module {
            #[allow(missing_docs)]
            pub static HANDLER: #krate::Handler = #krate::__private::invalid_handler();
        }
    }
}
