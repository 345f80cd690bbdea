//! Types of a signature, rewritten so that they mean the same inside the generated module.

use proc_macro2::Span;
use quote::ToTokens;
use syn::spanned::Spanned;
use syn::visit_mut::{self, VisitMut};
use syn::{Lifetime, Path, PathSegment, Type, TypeFnPtr, TypeImplTrait, TypePath, TypeReference};

/// `ty` as the generated module has to spell it: one level below the place where it was written, `self::` is
/// `super::`, and `super::` is `super::super::`.
pub(crate) fn one_level_down(mut ty: Type) -> Type {
    OneLevelDown.visit_type_mut(&mut ty);
    ty
}

/// Like [`one_level_down`], for a path.
pub(crate) fn path_one_level_down(mut path: Path) -> Path {
    OneLevelDown.visit_path_mut(&mut path);
    path
}

/// `ty` with every lifetime that a signature may leave out or call `'_` spelled `'static`.
pub(crate) fn with_static_lifetimes(mut ty: Type) -> Type {
    StaticLifetimes.visit_type_mut(&mut ty);
    ty
}

/// A span for generated code that is to be reported at `tokens`. It stays generated code for lints and hygiene.
pub(crate) fn generated_at(tokens: &impl ToTokens) -> Span {
    Span::call_site().located_at(tokens.span())
}

/// `ty` without the invisible groups of `macro_rules` and without parentheses.
pub(crate) fn ungrouped(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => ungrouped(&group.elem),
        Type::Paren(paren) => ungrouped(&paren.elem),
        _ => ty,
    }
}

/// The first `impl Trait` in `ty`.
pub(crate) fn impl_trait(ty: &Type) -> Option<TypeImplTrait> {
    let mut finder = ImplTrait(None);
    finder.visit_type_mut(&mut ty.clone());
    finder.0
}

struct OneLevelDown;

impl VisitMut for OneLevelDown {
    fn visit_path_mut(&mut self, path: &mut Path) {
        visit_mut::visit_path_mut(self, path);
        let Some(first) = path.segments.first_mut().filter(|_| path.leading_colon.is_none()) else { return };
        let up = PathSegment::from(syn::Ident::new("super", first.ident.span()));
        if first.ident == "self" {
            *first = up;
        } else if first.ident == "super" {
            path.segments.insert(0, up);
        }
    }

    fn visit_type_path_mut(&mut self, ty: &mut TypePath) {
        let segments_before = ty.path.segments.len();
        visit_mut::visit_type_path_mut(self, ty);
        if let Some(qself) = &mut ty.qself {
            // In `<T as super::Trait>::Type` the position says where the trait's path ends.
            qself.position += ty.path.segments.len() - segments_before;
        }
    }
}

struct StaticLifetimes;

impl VisitMut for StaticLifetimes {
    fn visit_lifetime_mut(&mut self, lifetime: &mut Lifetime) {
        if lifetime.ident == "_" {
            *lifetime = Lifetime::new("'static", lifetime.span());
        }
    }

    fn visit_type_reference_mut(&mut self, ty: &mut TypeReference) {
        visit_mut::visit_type_reference_mut(self, ty);
        ty.lifetime.get_or_insert_with(|| Lifetime::new("'static", Span::call_site()));
    }

    fn visit_type_fn_ptr_mut(&mut self, _: &mut TypeFnPtr) {
        // Lifetimes left out in `fn(&T)` are parameters of that type and mean something else.
    }
}

struct ImplTrait(Option<TypeImplTrait>);

impl VisitMut for ImplTrait {
    fn visit_type_impl_trait_mut(&mut self, ty: &mut TypeImplTrait) {
        self.0.get_or_insert_with(|| ty.clone());
    }
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::*;

    fn text(ty: &Type) -> String {
        ty.to_token_stream().to_string().replace(' ', "")
    }

    #[test]
    fn relative_paths_go_one_level_up() {
        for (written, expected) in [
            (parse_quote!(Movie), "Movie"),
            (parse_quote!(crate::Movie), "crate::Movie"),
            (parse_quote!(::movies::Movie), "::movies::Movie"),
            (parse_quote!(self::Movie), "super::Movie"),
            (parse_quote!(super::Movie), "super::super::Movie"),
            (parse_quote!(State<super::super::Movie>), "State<super::super::super::Movie>"),
            (parse_quote!((super::A, [self::B; super::N])), "(super::super::A,[super::B;super::super::N])"),
            (parse_quote!(<super::A as super::Trait>::Type), "<super::super::Aassuper::super::Trait>::Type"),
        ] {
            assert_eq!(text(&one_level_down(written)), expected);
        }
    }

    #[test]
    fn lifetimes_that_may_be_left_out_become_static() {
        for (written, expected) in [
            (parse_quote!(Tx<'_>), "Tx<'static>"),
            (parse_quote!(Tx<&'_ str, &str>), "Tx<&'staticstr,&'staticstr>"),
            (parse_quote!(Tx<fn(&str)>), "Tx<fn(&str)>"),
            (parse_quote!(Tx<for<'a> fn(&'a str)>), "Tx<for<'a>fn(&'astr)>"),
        ] {
            assert_eq!(text(&with_static_lifetimes(written)), expected);
        }
    }
}
