//! Which functions can be handlers.

use syn::{Attribute, FnArg, PatType, ReturnType, Safety, Signature, Type, TypeReference};

use super::args::{HandlerArgs, Idempotency};
use super::item::HandlerItem;
use super::model::{Argument, Handler};
use super::variables::Variables;
use crate::diagnostics::Diagnostics;
use crate::types::{self, one_level_down, ungrouped, with_static_lifetimes};

const EVENT: &str = "a handler's first argument is its event, by value: `event: MovieAdded`";
const REFERENCE: &str = "a handler's arguments are values, such as `State<T>` and `Delivery`; \
                         the only reference is a transaction, `tx: &mut SqliteTx<'_>`";
const RESULT: &str = "a handler returns `Result<(), E>`, where `E` is any error type (`anyhow::Error` works)";

/// Reports every mistake of the function. `None` if there is one, here or in the attribute's `name`.
pub(crate) fn handler(
    args: &HandlerArgs,
    item: &HandlerItem,
    diagnostics: &mut Diagnostics,
) -> Option<Handler> {
    let sig = &item.sig;
    qualifiers(sig, diagnostics);
    let arguments = arguments(sig, diagnostics);
    let returns = result_type(sig, diagnostics);
    let mut arguments = arguments?.into_iter();
    Some(Handler {
        cfgs: item.cfgs.clone(),
        is_deprecated: item.is_deprecated,
        vis: item.vis.clone(),
        function: sig.ident.clone(),
        module: args.module_of(sig),
        krate: types::path_one_level_down(args.krate.clone()),
        name: args.name.clone()?,
        event: arguments.next()?,
        arguments: arguments.collect(),
        returns: returns?,
        timeout: args.timeout,
        max_attempts: args.max_attempts,
        lease: args.lease,
        on_dead: args.on_dead,
        idempotency: args.idempotency.clone().map(Idempotency::one_level_down),
    })
}

/// The worker awaits the function, and calls it as it stands.
fn qualifiers(sig: &Signature, diagnostics: &mut Diagnostics) {
    if sig.asyncness.is_none() {
        diagnostics.error(sig.fn_token, "a handler is asynchronous: write `async fn`");
    }
    if let Some(constness) = &sig.constness {
        diagnostics.error(constness, "a handler cannot be `const`");
    }
    match &sig.safety {
        Safety::Unsafe(token) => {
            diagnostics.error(token, "a handler cannot be `unsafe`: the worker calls it on every delivery");
        }
        Safety::Safe(token) => {
            diagnostics.error(token, "a handler cannot be `safe`, which is for foreign functions");
        }
        Safety::Default => {}
    }
    if let Some(abi) = &sig.abi {
        diagnostics.error(abi, "a handler has Rust's own calling convention");
    }
    if !sig.generics.params.is_empty() {
        let message =
            "a handler has no type or lifetime parameters: it is registered once, for one event type";
        diagnostics.error(&sig.generics.params, message);
    } else if let Some(where_clause) = &sig.generics.where_clause {
        diagnostics.error(where_clause, "a handler has no parameters, so it needs no `where`");
    }
    if let Some(variadic) = &sig.variadic {
        diagnostics.error(variadic, "a handler has a fixed list of arguments");
    }
}

/// The event, and what follows it. `None` if an argument is wrong.
fn arguments(sig: &Signature, diagnostics: &mut Diagnostics) -> Option<Vec<Argument>> {
    if sig.inputs.is_empty() {
        diagnostics.error(&sig.ident, EVENT);
    }
    let mut variables = Variables::default();
    let mut arguments: Vec<Argument> = Vec::new();
    for (position, input) in sig.inputs.iter().enumerate() {
        let Some(input) = typed(input, diagnostics) else { continue };
        let argument = if let Type::Reference(reference) = ungrouped(&input.ty) {
            transaction(reference, position, diagnostics)
        } else {
            let ty = one_level_down((*input.ty).clone());
            Some(Argument { variable: variables.name(&input.pat, position), ty, is_transaction: false })
        };
        let is_second = |new: &Argument| new.is_transaction && arguments.iter().any(|old| old.is_transaction);
        if argument.as_ref().is_some_and(is_second) {
            diagnostics.error(&input.ty, "a handler takes at most one transaction");
        }
        arguments.extend(argument);
    }
    (!arguments.is_empty() && arguments.len() == sig.inputs.len()).then_some(arguments)
}

/// An argument with a type of its own that is there in every build.
fn typed<'a>(input: &'a FnArg, diagnostics: &mut Diagnostics) -> Option<&'a PatType> {
    let input = match input {
        FnArg::Receiver(receiver) => {
            diagnostics.error(
                receiver,
                "a handler is a free function: it has no `self`; take what it needs as `State<T>`",
            );
            return None;
        }
        FnArg::Typed(input) => input,
    };
    let is_cfg =
        |attribute: &&Attribute| attribute.path().is_ident("cfg") || attribute.path().is_ident("cfg_attr");
    if let Some(cfg) = input.attrs.iter().find(is_cfg) {
        diagnostics.error(
            cfg,
            "an argument of a handler cannot depend on a `cfg`; write two handlers, each with a `cfg`",
        );
    }
    if let Some(impl_trait) = types::impl_trait(&input.ty) {
        diagnostics.error(
            impl_trait,
            "an argument of a handler has a concrete type, since nobody can name it for `impl`",
        );
        return None;
    }
    Some(input)
}

/// A reference is the handler's transaction, or wrong.
fn transaction(
    reference: &TypeReference,
    position: usize,
    diagnostics: &mut Diagnostics,
) -> Option<Argument> {
    if position == 0 {
        let hint = if reference.mutability.is_some() { "; a transaction follows it" } else { "" };
        diagnostics.error(reference, format!("{EVENT}{hint}"));
        return None;
    }
    if reference.mutability.is_none() {
        diagnostics.error(reference, REFERENCE);
        return None;
    }
    if let Some(lifetime) = reference.lifetime.as_ref().filter(|lifetime| lifetime.ident != "_") {
        diagnostics.error(
            lifetime,
            "a transaction is lent for one run: leave the lifetime out, `&mut SqliteTx<'_>`",
        );
        return None;
    }
    let ty = with_static_lifetimes(one_level_down((*reference.elem).clone()));
    Some(Argument { variable: Variables::transaction(), ty, is_transaction: true })
}

fn result_type(sig: &Signature, diagnostics: &mut Diagnostics) -> Option<Type> {
    match &sig.output {
        ReturnType::Type(_, ty) => Some((**ty).clone()),
        ReturnType::Default => {
            diagnostics.error(&sig.ident, RESULT);
            None
        }
    }
}
