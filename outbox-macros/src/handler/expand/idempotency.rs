//! `idempotency`: the handler's generated tests.

use proc_macro2::TokenStream;
use quote::quote;
use syn::Type;

use crate::handler::args::Idempotency;
use crate::handler::model::Handler;
use crate::types::one_level_down;

/// A module with one ignored test that says how the handler's checks stand.
pub(super) fn module(handler: &Handler) -> TokenStream {
    let name = &handler.name;
    let about = format!(" Checks of the handler `{name}`.");
    let tests = match &handler.idempotency {
        Some(Idempotency::Scenario(scenario)) => scenario_tests(scenario),
        Some(Idempotency::Skipped(reason)) => skipped_test(reason),
        None => missing_test(name),
    };
    quote! {
        #[doc = #about]
        #[cfg(test)]
        pub mod idempotency {
            #tests
        }
    }
}

/// The scenario is named here alone, so it may live under `cfg(test)`, too.
fn scenario_tests(scenario: &Type) -> TokenStream {
    let scenario = one_level_down(scenario.clone());
    quote! {
        #[allow(unused_imports)]
        use super::*;

        // In full, since the author's module may have imported another `test`.
        #[::core::prelude::v1::test]
        #[ignore = "this version does not run scenarios yet"]
        fn scenario_is_not_run() {
            let _scenario = ::core::marker::PhantomData::<#scenario>;
        }
    }
}

fn skipped_test(reason: &str) -> TokenStream {
    let ignored = format!("skipped: {reason}");
    quote! {
        #[test]
        #[ignore = #ignored]
        fn skipped() {}
    }
}

fn missing_test(name: &str) -> TokenStream {
    let ignored = format!(
        "nothing checks that `{name}` is idempotent: write `idempotency = YourScenario` or \
         `idempotency(skip = \"reason\")` into its `#[event_handler]`"
    );
    quote! {
        #[test]
        #[ignore = #ignored]
        fn add_a_scenario() {}
    }
}
