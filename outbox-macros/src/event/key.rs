//! The field that `key = "…"` names.

use proc_macro2::TokenStream;
use quote::quote_spanned;
use syn::ext::IdentExt;
use syn::parse::Parser;
use syn::{Data, DataStruct, Fields, Ident, Index, LitStr, Member};

/// Keywords that cannot be raw identifiers either.
const NEVER_FIELDS: [&str; 5] = ["_", "self", "Self", "super", "crate"];

/// The path to the key's field, such as `movie.id` or `0`, with the span of the literal.
///
/// Its first part is looked up here, with all fields in the message; for further parts the compiler does that.
pub(crate) fn field(key: &LitStr, data: &Data) -> syn::Result<TokenStream> {
    let error = |message: String| syn::Error::new(key.span(), message);
    let Data::Struct(DataStruct { fields, .. }) = data else {
        let message = "`key` names a field of a struct; for other types implement `Event` by hand";
        return Err(error(message.to_owned()));
    };
    let path = key.value();
    let parts: Option<Vec<Member>> = path.split('.').map(|part| member(part, key)).collect();
    let parts = parts.ok_or_else(|| {
        error(format!("`key` is a field, or a path of fields such as `movie.id` or `0`; {path:?} is neither"))
    })?;
    let names: Vec<String> = fields.members().map(|field| name(&field)).collect();
    let first = path.split('.').next().unwrap_or_default();
    if !names.iter().any(|name| name == first) {
        return Err(error(unknown_field(first, fields, &names)));
    }
    Ok(quote_spanned!(key.span()=> #(#parts).*))
}

fn member(part: &str, key: &LitStr) -> Option<Member> {
    if let Ok(index) = part.parse::<u32>() {
        // Only as the compiler writes it: `01` and `+1` are no fields.
        return (index.to_string() == part).then_some(Member::Unnamed(Index { index, span: key.span() }));
    }
    if !part.chars().all(|c| c == '_' || c.is_alphanumeric()) || NEVER_FIELDS.contains(&part) {
        return None;
    }
    Ident::parse_any.parse_str(part).ok()?;
    // A keyword is given as the field is called: `key = "type"` for `r#type`.
    let is_keyword = syn::parse_str::<Ident>(part).is_err();
    let new = if is_keyword { Ident::new_raw } else { Ident::new };
    Some(Member::Named(new(part, key.span())))
}

fn name(member: &Member) -> String {
    match member {
        Member::Named(ident) => ident.unraw().to_string(),
        Member::Unnamed(index) => index.index.to_string(),
    }
}

fn unknown_field(field: &str, fields: &Fields, names: &[String]) -> String {
    if fields.is_empty() {
        return format!("there is no field `{field}`: this event has no fields, so it has no key");
    }
    let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    format!("there is no field `{field}`; this event has {}", names.join(", "))
}

#[cfg(test)]
mod tests {
    use quote::ToTokens;
    use syn::{DeriveInput, parse_quote};

    use super::*;

    fn found(path: &str) -> Option<String> {
        let input: DeriveInput = parse_quote!(
            struct Movie {
                id: u64,
                r#type: Kind,
                é: u8,
            }
        );
        let key = LitStr::new(path, proc_macro2::Span::call_site());
        field(&key, &input.data).ok().map(|field| field.into_token_stream().to_string().replace(' ', ""))
    }

    #[test]
    fn a_path_starts_with_a_field_of_the_event() {
        for (path, expected) in
            [("id", "id"), ("type", "r#type"), ("é", "é"), ("id.match", "id.r#match"), ("id.0.x", "id.0.x")]
        {
            assert_eq!(found(path).as_deref(), Some(expected), "{path}");
        }
    }

    #[test]
    fn anything_else_is_refused_without_a_panic() {
        for path in [
            "", ".", "id.", "title", "0", "id.01", "id.self", "id._", "id()", "id.9a", "id .x", "r#type",
            "\"",
        ] {
            assert_eq!(found(path), None, "{path}");
        }
    }
}
