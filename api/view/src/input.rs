//! The expansion of `#[input]`.

use proc_macro2::{TokenStream, TokenTree};
use quote::quote;
use syn::{
    Attribute, Error, Expr, ExprLit, Field, Fields, Ident, ItemStruct, Lit, LitStr, Path, Token, Type, parenthesized,
    parse::{Parse, ParseStream},
};

use crate::record_view::argument_of;

/// Items of the crate with the readers, which this crate does not depend on.
const KINDS: &str = "::framework::values::kinds";

/// The arguments of the attribute above the struct.
#[derive(Default)]
struct InputRules {
    /// Objects around the fields: whether the object is read itself, its path and its description.
    objects: Vec<(bool, LitStr, LitStr)>,
    alias: Option<LitStr>,
    /// The type that the fields build, and the expression for its other fields.
    builds: Option<Path>,
    rest: Option<Expr>,
    /// The type whose values the fields change.
    changes: Option<Path>,
    check: Option<Path>,
    unknown: Option<Path>,
}

impl Parse for InputRules {
    fn parse(input: ParseStream<'_>) -> syn::Result<InputRules> {
        let mut rules = InputRules::default();
        while !input.is_empty() {
            let name: Ident = input.parse()?;
            match name.to_string().as_str() {
                word @ ("object" | "container") => {
                    let inside;
                    parenthesized!(inside in input);
                    let path = inside.parse()?;
                    inside.parse::<Token![,]>()?;
                    rules.objects.push((word == "object", path, inside.parse()?));
                }
                "alias" => rules.alias = Some(value(input)?),
                "builds" => rules.builds = Some(value(input)?),
                "rest" => rules.rest = Some(value(input)?),
                "changes" => rules.changes = Some(value(input)?),
                "check" => rules.check = Some(value(input)?),
                "unknown" => rules.unknown = Some(value(input)?),
                _ => {
                    let known = "must be `object`, `container`, `alias`, `builds`, `rest`, `changes`, `check` or \
                        `unknown`";
                    return Err(Error::new(name.span(), known));
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        Ok(rules)
    }
}

impl InputRules {
    /// Returns the prefix of the paths of body fields: the object around them, if there is only one.
    fn prefix(&self) -> String {
        match self.objects.as_slice() {
            [(_, path, _)] => format!("{}.", path.value()),
            _ => String::new(),
        }
    }

    /// Returns the statements that read the objects around the fields.
    fn statements(&self) -> syn::Result<TokenStream> {
        let object: Path = syn::parse_str(&format!("{KINDS}::object"))?;
        let outer = self.objects.first().map(|(_, path, _)| path);
        let alias = outer.zip(self.alias.as_ref()).map(|(path, alias)| quote!(input.body.accept_alias(#path, #alias);));
        let objects = self.objects.iter().map(|(is_read, path, about)| match is_read {
            true => quote!(input.body.required(#path, #object(#about));),
            false => quote!(input.body.container(#path, #about);),
        });
        Ok(quote!(#alias #(#objects)*))
    }
}

/// Reads `= value`.
pub(crate) fn value<T: Parse>(input: ParseStream<'_>) -> syn::Result<T> {
    input.parse::<Token![=]>()?;
    input.parse()
}

/// The attribute above a field: `#[body(kind, ..)]` or `#[query(kind, ..)]`.
struct FieldRules {
    kind: Expr,
    name: Option<LitStr>,
    default: Option<Expr>,
    or: Option<Expr>,
    /// Flags: `required`, `nonempty`, `not_null`, `cleared`, `single`.
    flags: Vec<Ident>,
}

impl Parse for FieldRules {
    fn parse(input: ParseStream<'_>) -> syn::Result<FieldRules> {
        let kind = input.parse()?;
        let mut rules = FieldRules { kind, name: None, default: None, or: None, flags: Vec::new() };
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if input.is_empty() {
                break;
            }
            let name: Ident = input.parse()?;
            match name.to_string().as_str() {
                "name" => rules.name = Some(value(input)?),
                "default" => rules.default = Some(value(input)?),
                "or" => rules.or = Some(value(input)?),
                "required" | "nonempty" | "not_null" | "cleared" | "single" => rules.flags.push(name),
                _ => {
                    let known = "must be `name`, `default`, `or`, `required`, `nonempty`, `not_null`, \
                        `cleared` or `single`";
                    return Err(Error::new(name.span(), known));
                }
            }
        }
        Ok(rules)
    }
}

impl FieldRules {
    fn has(&self, flag: &str) -> bool {
        self.flags.iter().any(|known| known == flag)
    }

    /// Returns the expression that reads the field.
    fn read(&self, source: &Ident, path: &str, field: &Type, about: Option<&str>) -> syn::Result<TokenStream> {
        let shared: Path = syn::parse_str(&format!("{KINDS}::FieldKind"))?;
        let mut kind = self.kind.clone();
        if let Some(about) = about {
            kind = syn::parse_quote!(#kind.about(#about));
        }
        // A kind that depends on the call is built for each call.
        let kind = match mentions_input(quote!(#kind)) {
            true => quote!(#kind),
            false => quote!({
                static KIND: #shared = #shared::new();
                KIND.get(|| #kind)
            }),
        };
        let optional = argument_of(field, "Option");
        let is_list = |kind: &Type| argument_of(kind, "Vec").is_some() && !self.has("single");
        let call = |method: &str| {
            let method = Ident::new(method, source.span());
            quote!(input.#source.#method(#path, #kind))
        };
        if let Some(default) = &self.default {
            return Ok(quote!(input.#source.defaulted(#path, #kind, #default)));
        }
        if let Some(or) = &self.or {
            let value = call(if self.has("nonempty") { "optional_nonempty" } else { "optional" });
            return Ok(quote!(#value.unwrap_or(#or)));
        }
        Ok(call(match optional {
            Some(_) if self.has("required") => "required_or_none",
            Some(_) if self.has("nonempty") => "optional_nonempty",
            Some(_) if self.has("not_null") => "optional_not_null",
            Some(_) if self.has("cleared") => "clearable_text",
            Some(inner) if argument_of(inner, "Option").is_some() => "clearable",
            Some(inner) if is_list(inner) => "optional_list",
            Some(_) => "optional",
            None if is_list(field) && self.has("required") => "required_list",
            None if is_list(field) => "list",
            None => "required",
        }))
    }
}

fn mentions_input(tokens: TokenStream) -> bool {
    tokens.into_iter().any(|token| match token {
        TokenTree::Ident(name) => name == "input",
        TokenTree::Group(group) => mentions_input(group.stream()),
        _ => false,
    })
}

pub(crate) fn input(arguments: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let rules: InputRules = syn::parse2(arguments)?;
    let mut item: ItemStruct = syn::parse2(item)?;
    let name = item.ident.clone();
    let Fields::Named(fields) = &mut item.fields else {
        return Err(Error::new(name.span(), "an input has named fields"));
    };
    let (mut values, mut names) = (Vec::new(), Vec::new());
    for field in &mut fields.named {
        let Some(field_name) = field.ident.clone() else { continue };
        let value = value_of(field, &field_name, &rules.prefix())?;
        values.push(quote!(#field_name: #value));
        names.push(field_name);
    }
    let change = rules.changes.as_ref().map(|changed| {
        quote! {
            impl #name {
                fn apply_to(&self, it: &mut #changed) {
                    #(if let Some(value) = &self.#names {
                        it.#names = ::core::clone::Clone::clone(value);
                    })*
                }
            }
        }
    });
    let objects = rules.statements()?;
    let rest = rules.rest.iter().map(|rest| quote!(..#rest));
    let fields = values.into_iter().chain(rest);
    let built = match &rules.builds {
        Some(builds) => quote!(#name(#builds { #(#fields),* })),
        None => quote!(#name { #(#fields),* }),
    };
    let built = match &rules.check {
        Some(check) => quote!(let value = #built; #check(&value, input); value),
        None => built,
    };
    let declared = match &rules.builds {
        Some(builds) => {
            let (attributes, visibility) = (&item.attrs, &item.vis);
            quote!(#(#attributes)* #visibility struct #name(#builds);)
        }
        None => quote!(#item),
    };
    let unknown = rules.unknown.map(|unknown| {
        quote! {
            fn unknown(
                named: ::framework::values::kinds::reference::Reference,
                location: Option<::location::ids::LocationId>,
            ) -> ::framework::http::errors::ApiError {
                #unknown(named, location)
            }
        }
    });
    Ok(quote! {
        #declared

        impl ::framework::access::call::FromInput for #name {
            fn from_input(input: &mut ::framework::access::call::Input) -> #name {
                #objects
                #built
            }

            #unknown
        }

        #change
    })
}

/// Removes the attribute of a field and returns the expression for its value.
fn value_of(field: &mut Field, name: &Ident, prefix: &str) -> syn::Result<TokenStream> {
    let is_rule = |it: &Attribute| ["body", "query", "read"].iter().any(|known| it.path().is_ident(known));
    let Some(at) = field.attrs.iter().position(is_rule) else {
        let kind = &field.ty;
        if is_value(kind) {
            return Err(Error::new(name.span(), format!("`{name}` needs `#[body]`, `#[query]` or `#[read]`")));
        }
        return Ok(quote!(<#kind as ::framework::access::call::FromInput>::from_input(input)));
    };
    let attribute = field.attrs.remove(at);
    if attribute.path().is_ident("read") {
        let value: Expr = attribute.parse_args()?;
        return Ok(quote!(#value));
    }
    let rules: FieldRules = attribute.parse_args()?;
    let is_body = attribute.path().is_ident("body");
    let path = match &rules.name {
        Some(path) => path.value(),
        None if is_body => format!("{prefix}{name}"),
        None => name.to_string(),
    };
    let source = Ident::new(if is_body { "body" } else { "query" }, name.span());
    rules.read(&source, &path, &field.ty, documentation(&field.attrs).as_deref())
}

/// Returns `true` for numbers, texts and values that may be missing or repeated. Other types may be inputs themselves.
fn is_value(kind: &Type) -> bool {
    let Type::Path(path) = kind else { return true };
    path.path.segments.last().is_none_or(|last| {
        let name = last.ident.to_string();
        ["Option", "Vec", "String"].contains(&name.as_str()) || name.starts_with(char::is_lowercase)
    })
}

/// Returns the doc comment of a field as one line.
pub(crate) fn documentation(attributes: &[Attribute]) -> Option<String> {
    let lines = attributes.iter().filter(|it| it.path().is_ident("doc")).filter_map(|it| {
        let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &it.meta.require_name_value().ok()?.value else {
            return None;
        };
        Some(text.value().trim().to_owned())
    });
    Some(lines.collect::<Vec<_>>().join(" ")).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn types_and_flags_determine_how_a_field_is_read() {
        let item = quote! {
            struct Change {
                /// The number
                /// of days.
                #[body(integer(1..=60), default = 7)]
                days: i64,
                #[body(text(9), nonempty)]
                note: Option<String>,
                #[body(instant(&input.clock), name = "at.start")]
                start: Option<Option<Timestamp>>,
                #[query(id())]
                ids: Vec<u32>,
                #[query(sorts(&["id"]), single, required)]
                sort: Option<Vec<Sort>>,
                #[read(input.paging())]
                paging: Paging,
                filter: Filter,
            }
        };
        let text =
            input(quote!(object("change", "The change."), alias = "patch", check = Change::check), item).unwrap();
        let text = text.to_string();
        for part in [
            "input . body . accept_alias (\"change\" , \"patch\") ; input . body . required (\"change\" , ",
            "Change { days : input . body . defaulted (\"change.days\" , { static KIND",
            "KIND . get (|| integer (1 ..= 60) . about (\"The number of days.\")) } , 7) ,",
            "input . body . optional_nonempty (\"change.note\" ,",
            "start : input . body . clearable (\"at.start\" , instant (& input . clock)) ,",
            "input . query . list (\"ids\" ,",
            "input . query . required_or_none (\"sort\" ,",
            "paging : input . paging () , filter : < Filter as :: framework :: access :: call :: FromInput > ::",
            "from_input (input) } ; Change :: check (& value , input) ; value",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        assert!(!text.contains("# [body"), "{text}");
    }

    #[test]
    fn a_declaration_builds_another_type() {
        let item = quote! {
            pub struct NewPlan {
                #[body(text(9), nonempty, or = String::new())]
                name: String,
            }
        };
        let text = input(quote!(container("plan", "The plan."), builds = Plan, rest = Plan::default()), item).unwrap();
        let text = text.to_string();
        for part in [
            "pub struct NewPlan (Plan) ;",
            "input . body . container (\"plan\" , \"The plan.\") ; NewPlan (Plan { name : input . body . optional_nonempty (\"plan.name\" ,",
            ". unwrap_or (String :: new ()) , .. Plan :: default () })",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }

    #[test]
    fn a_change_sets_the_fields_that_are_given() {
        let item = quote! {
            struct PlanUpdate {
                #[body(text(9), not_null)]
                name: Option<String>,
                #[body(text(9))]
                note: Option<Option<String>>,
            }
        };
        let text = input(quote!(changes = Plan), item).unwrap().to_string();
        for part in [
            "impl PlanUpdate { fn apply_to (& self , it : & mut Plan) { if let Some (value) = & self . name",
            "{ it . note = :: core :: clone :: Clone :: clone (value) ; } } }",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }

    #[test]
    fn errors_name_the_field_or_argument() {
        let error = |arguments: TokenStream, item: TokenStream| input(arguments, item).unwrap_err().to_string();
        let undeclared = error(
            quote!(),
            quote!(
                struct Change {
                    days: i64,
                }
            ),
        );
        assert_eq!(undeclared, "`days` needs `#[body]`, `#[query]` or `#[read]`");
        let unknown = error(
            quote!(),
            quote!(
                struct Change {
                    #[body(id(), optional)]
                    days: i64,
                }
            ),
        );
        assert!(unknown.starts_with("must be `name`"), "{unknown}");
        assert!(
            error(
                quote!(objects("x", "y")),
                quote!(
                    struct Change {}
                )
            )
            .starts_with("must be `object`")
        );
    }
}
