//! The expansion of the attribute.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{
    Error, Expr, Field, Fields, FnArg, Ident, ItemStruct, LitStr, Path, Token, Type, parenthesized,
    parse::{Parse, ParseStream},
    parse_quote,
    punctuated::Punctuated,
    token::Paren,
};

use crate::{
    documentation,
    input::value,
    record_view::{IncludedField, RelatedRecord, argument_of, implement, included_view, publish, rendered},
};

/// The source of a view.
enum ViewOrigin {
    /// The record with this body.
    Record(Path),
    /// A value of this type.
    Value(Path),
    /// A handler, which builds the view itself.
    Handler,
}

/// The arguments of the attribute.
struct ViewRules {
    origin: ViewOrigin,
    named: Option<String>,
    only: Option<LitStr>,
    arguments: Punctuated<FnArg, Token![,]>,
    render: Option<Expr>,
    includes: Vec<Ident>,
    published: bool,
}

impl Parse for ViewRules {
    fn parse(input: ParseStream<'_>) -> syn::Result<ViewRules> {
        let (mut origin, mut named, mut only) = (ViewOrigin::Handler, None, None);
        let (mut arguments, mut render) = (Punctuated::new(), None);
        let (mut includes, mut published, mut given) = (Vec::new(), false, Vec::new());
        while !input.is_empty() {
            let name: Ident = input.parse()?;
            if given.contains(&name) {
                return Err(Error::new(name.span(), format!("`{name}` is given twice")));
            }
            given.push(name.clone());
            match name.to_string().as_str() {
                "of" => origin = ViewOrigin::Record(value(input)?),
                "value" => origin = ViewOrigin::Value(value(input)?),
                "only" => only = Some(value(input)?),
                "named" => named = Some(value::<LitStr>(input)?.value()),
                "args" => arguments = list(input)?,
                "render" => render = Some(value(input)?),
                "includes" => includes = list::<Ident>(input)?.into_iter().collect(),
                "published" => published = true,
                _ => {
                    let known = "must be `of`, `value`, `named`, `only`, `args`, `render`, `includes` or `published`";
                    return Err(Error::new(name.span(), known));
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        let of_record = render.is_some() || published || !includes.is_empty();
        let needs_record = match &origin {
            ViewOrigin::Record(_) => false,
            ViewOrigin::Value(_) => of_record,
            ViewOrigin::Handler => of_record || !arguments.is_empty(),
        };
        if needs_record {
            return Err(input.error("needs the body of the record: `of = Payment`"));
        }
        Ok(ViewRules { origin, named, only, arguments, render, includes, published })
    }
}

fn list<T: Parse>(input: ParseStream<'_>) -> syn::Result<Punctuated<T, Token![,]>> {
    let inside;
    parenthesized!(inside in input);
    Punctuated::parse_terminated(&inside)
}

/// The source of a field's value.
enum FieldSource {
    From(Ident),
    With(Expr),
    /// An expression for a view whose fields become those of this one.
    Flatten(Expr),
    Active,
    Include(Option<RelatedRecord>),
    None,
}

impl Parse for FieldSource {
    fn parse(input: ParseStream<'_>) -> syn::Result<FieldSource> {
        let name: Ident = input.parse()?;
        match name.to_string().as_str() {
            "from" => value(input).map(FieldSource::From),
            "with" => value(input).map(FieldSource::With),
            "flatten" => value(input).map(FieldSource::Flatten),
            "active" => Ok(FieldSource::Active),
            "include" if input.peek(Paren) => {
                let inside;
                parenthesized!(inside in input);
                inside.parse().map(|id| FieldSource::Include(Some(RelatedRecord::Id(id))))
            }
            "include" if input.parse::<Option<Token![=]>>()?.is_some() => {
                input.parse().map(|expr| FieldSource::Include(Some(RelatedRecord::With(expr))))
            }
            "include" => Ok(FieldSource::Include(None)),
            "none" => Ok(FieldSource::None),
            _ => {
                let known = "`from = field`, `with = expr`, `flatten = expr`, `active`, `include`, `include(id)`, \
                    `include = expr` or `none`";
                Err(Error::new(name.span(), format!("`{name}` must be {known}")))
            }
        }
    }
}

impl FieldSource {
    /// Removes the field's attribute. Without one, the value is that of the record's field of the same name. A related
    /// record with the shared documentation is loaded by the id of its name.
    fn take(field: &mut Field, name: &Ident, is_of_record: bool) -> syn::Result<FieldSource> {
        let Some(at) = field.attrs.iter().position(|it| it.path().is_ident("view")) else {
            let has_shared_docs = || crate::input::documentation(&field.attrs).is_none();
            return Ok(match &field.ty {
                kind if is_of_record && included_view(kind).is_some() && has_shared_docs() => {
                    FieldSource::Include(Some(RelatedRecord::Id(Ident::new(&format!("{name}_id"), name.span()))))
                }
                kind if included_view(kind).or(argument_of(kind, "IncludedList")).is_some() => {
                    FieldSource::Include(None)
                }
                kind if is_always_null(kind) => FieldSource::None,
                _ => FieldSource::From(name.clone()),
            });
        };
        field.attrs.remove(at).parse_args()
    }
}

fn is_always_null(kind: &Type) -> bool {
    quote!(#kind).to_string() == "Option < () >"
}

fn is_named(kind: &Type, name: &str) -> bool {
    matches!(kind, Type::Path(path) if path.path.segments.last().is_some_and(|last| last.ident == name))
}

pub(crate) fn view(arguments: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let ViewRules { origin, named, only, arguments, render, includes, published } = syn::parse2(arguments)?;
    let mut item: ItemStruct = syn::parse2(item)?;
    let name = item.ident.clone();
    let Fields::Named(fields) = &mut item.fields else {
        return Err(Error::new(name.span(), "a view has named fields"));
    };
    // Before the attributes that these derives read.
    item.attrs.insert(0, parse_quote!(#[derive(::serde::Serialize, ::schemars::JsonSchema)]));
    let lifetime = item.generics.lifetimes().next().map(|it| it.lifetime.clone());
    let (mut values, mut included, mut adapter, conversion) = (Vec::new(), Vec::new(), None, path(CONVERSION)?);
    for field in &mut fields.named {
        let Some(field_name) = field.ident.clone() else { continue };
        let source = FieldSource::take(field, &field_name, matches!(origin, ViewOrigin::Record(_)))?;
        if matches!(source, FieldSource::Flatten(_)) || is_named(&field.ty, "WriteState") {
            field.attrs.push(parse_quote!(#[serde(flatten)]));
        }
        if argument_of(&field.ty, "Omittable").is_some() {
            field.attrs.push(parse_quote!(#[serde(skip_serializing_if = "Option::is_none")]));
        }
        document(field, &field_name, named.as_deref())?;
        if let Some(version) = &only {
            field.attrs.push(parse_quote!(#[schemars(extend("x-versions" = [#version]))]));
        }
        let is_value = matches!(
            source,
            FieldSource::With(_) | FieldSource::Flatten(_) | FieldSource::Active | FieldSource::Include(Some(_))
        );
        if is_value && matches!(origin, ViewOrigin::Handler) {
            return Err(Error::new(field_name.span(), "the value of a field needs `of` or `value` above the view"));
        }
        let value = match source {
            FieldSource::From(source) if source == "foreign_id_type" => {
                adapter = Some(quote!(adapter: Option<&#lifetime str>));
                let origin = path(ORIGIN)?;
                quote!(#origin(entry.foreign_id.as_deref(), adapter))
            }
            FieldSource::From(source) => quote!(#conversion(&entry.#source)),
            FieldSource::With(expr) | FieldSource::Flatten(expr) => quote!(#expr),
            FieldSource::Active => {
                quote!(#conversion(&(entry.body.active && entry.deleted_at.is_none())))
            }
            FieldSource::Include(record) => {
                if let Some(record) = record {
                    included.push(IncludedField::new(&field_name, &field.ty, &record)?);
                }
                field.attrs.push(parse_quote!(#[serde(skip_serializing_if = "Option::is_none")]));
                quote!(None)
            }
            FieldSource::None => quote!(None),
        };
        values.push(quote!(#field_name: #value));
    }
    let (constructor, entry) = match &origin {
        ViewOrigin::Record(of) => (quote!(from_record), quote!(::engine::records::record::Record<#of>)),
        ViewOrigin::Value(kind) => (quote!(from_value), quote!(#kind)),
        ViewOrigin::Handler => return Ok(quote!(#item)),
    };
    let rendered = render.or_else(|| rendered(&name, arguments.iter(), adapter.is_some()));
    let (generics, parameters, bounds) = item.generics.split_for_impl();
    let further = arguments.iter().map(|it| quote!(#it)).chain(adapter);
    let view = quote! {
        #item

        impl #generics #name #parameters #bounds {
            pub(crate) fn #constructor(entry: &#lifetime #entry, #(#further),*) -> Self {
                #name { #(#values),* }
            }
        }
    };
    let ViewOrigin::Record(of) = origin else { return Ok(view) };
    if published && rendered.is_none() {
        return Err(Error::new(name.span(), "a published view with arguments needs `render`"));
    }
    let published = published.then(|| publish(&item, &of)).transpose()?;
    let record_view = implement(&item, &of, rendered, &included, includes)?;
    Ok(quote! {
        #view

        #record_view

        #published
    })
}

/// Items of the crate with the views, which this crate does not depend on.
const CONVERSION: &str = "crate::views::common::ViewField::view";
const ORIGIN: &str = "crate::views::common::foreign_id_type";

fn path(text: &str) -> syn::Result<Path> {
    syn::parse_str(text)
}

/// Adds the shared documentation to a field that has none, and its format to a date.
fn document(field: &mut Field, name: &Ident, record: Option<&str>) -> syn::Result<()> {
    let text = match crate::input::documentation(&field.attrs) {
        Some(text) => text,
        None if field.attrs.iter().any(is_flattened) => return Ok(()),
        None => {
            let always_null = || is_always_null(&field.ty).then(|| documentation::ALWAYS_NULL.to_owned());
            let shared = documentation::for_field(&name.to_string(), record).or_else(always_null);
            let text = shared.ok_or_else(|| {
                Error::new(name.span(), format!("`{name}` needs documentation, because views share none for it"))
            })?;
            field.attrs.push(parse_quote!(#[doc = #text]));
            text
        }
    };
    if text.contains("`YYYY-MM-DD`") && !field.attrs.iter().any(|it| it.path().is_ident("schemars")) {
        field.attrs.push(parse_quote!(#[schemars(extend("format" = "date"))]));
    }
    Ok(())
}

/// Returns `true` for `#[serde(flatten)]`: the field itself is not part of the response.
fn is_flattened(attribute: &syn::Attribute) -> bool {
    attribute.path().is_ident("serde") && attribute.parse_args::<Ident>().is_ok_and(|argument| argument == "flatten")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn expanded(arguments: TokenStream, item: TokenStream) -> String {
        view(arguments, item).unwrap().to_string()
    }

    fn error(arguments: TokenStream, item: TokenStream) -> String {
        view(arguments, item).unwrap_err().to_string()
    }

    #[test]
    fn fields_have_the_values_of_the_record() {
        let item = quote! {
            struct PaymentView<'a> {
                id: u64,
                #[view(from = kind)]
                /// The kind.
                payment_kind: &'a str,
                /// The patient.
                patient: Included<PatientBasic<'a>>,
                #[view(with = kind.map(name))]
                /// Its name.
                name: Option<&'a str>,
                /// Always null.
                category: Option<()>,
                foreign_id_type: &'a str,
            }
        };
        let text = expanded(quote!(of = Payment, named = "payment", args(kind: Option<u32>)), item);
        for part in [
            "# [doc = \"Id of the payment.\"] id : u64",
            "# [serde (skip_serializing_if = \"Option::is_none\")] patient",
            "entry : & 'a :: engine :: records :: record :: Record < Payment > , kind : Option < u32 > , adapter : Option < & 'a str >",
            "ViewField :: view (& entry . kind)",
            "patient : None",
            "name : kind . map (name)",
            "category : None",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        assert!(!text.contains("# [view"), "{text}");
    }

    #[test]
    fn fields_are_flattened_or_omitted_by_their_attribute_or_type() {
        let item = quote! {
            struct PaymentView<'a> {
                #[view(flatten = BasicView::from_record(entry))]
                basic: BasicView<'a>,
                write: WriteState<'a>,
                /// Its payload.
                #[view(with = payload(entry))]
                payload: Omittable<u32>,
            }
        };
        let text = expanded(quote!(of = Payment), item.clone());
        for part in [
            "{ # [serde (flatten)] basic : BasicView < 'a > , # [serde (flatten)] write : WriteState < 'a > ,",
            "# [serde (skip_serializing_if = \"Option::is_none\")] payload : Omittable < u32 >",
            "PaymentView { basic : BasicView :: from_record (entry) , write :",
            "ViewField :: view (& entry . write) , payload : payload (entry) }",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        assert!(error(quote!(), item).starts_with("the value of a field needs"));
    }

    #[test]
    fn included_records_are_loaded_by_id_and_attached() {
        let item = quote! {
            struct PaymentView<'a> {
                id: u64,
                patient: Included<PatientBasic<'a>>,
                #[view(include(payer_id))]
                guarantor: Included<PatientBasic<'a>>,
                /// The claim.
                #[view(include = related.record(entry.body.claim_id)?.map(ClaimView::with_totals))]
                claim: Included<ClaimView<'a>>,
            }
        };
        let text = expanded(quote!(of = Payment, named = "payment"), item);
        for part in [
            "RecordView for PaymentView < 'a >",
            "type View < 'view > = PaymentView < 'view >",
            "const INCLUDES : & 'static [& 'static str] = & [\"patient\" , \"guarantor\" , \"claim\"]",
            "{ PaymentView :: from_record (entry) }",
            "view . patient = related . included :: < PatientBasic < 'a > > (\"patient\" , entry . body . patient_id) ?",
            "view . guarantor = related . included :: < PatientBasic < 'a > > (\"guarantor\" , entry . body . payer_id) ?",
            "if related . is_requested (\"claim\") { view . claim = Some (related . record (entry . body . claim_id) ?",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
    }

    #[test]
    fn views_are_rendered_by_their_expression_or_their_constructor() {
        let item = quote!(
            struct View<'a> {
                foreign_id_type: &'a str,
            }
        );
        let text = expanded(quote!(of = Payment), item.clone());
        assert!(text.contains("{ View :: from_record (entry , reader . adapter (entry . source_id)) }"), "{text}");
        let text = expanded(
            quote!(of = Payment, args(adapter: Option<&'a str>)),
            quote!(
                struct View<'a> {}
            ),
        );
        assert!(text.contains("{ View :: from_record (entry , reader . adapter (entry . source_id)) }"), "{text}");
        let text = expanded(quote!(of = Payment, render = View::in_version(entry, reader)), item.clone());
        assert!(text.contains("{ View :: in_version (entry , reader) }"), "{text}");
        let text = expanded(quote!(of = Payment, args(kind: u32)), item);
        assert!(!text.contains("RecordView"), "{text}");
    }

    #[test]
    fn published_views_are_rendered_for_the_feed() {
        let item = quote!(
            struct View<'a> {}
        );
        let text = expanded(quote!(of = Payment, published), item.clone());
        for part in [
            "Published for Payment { type View = View < 'static > ;",
            "< View < 'static > as crate :: views :: render :: RecordView > :: render (entry , context)",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        assert!(!expanded(quote!(of = Payment), item.clone()).contains("Published"));
        let found = error(quote!(of = Payment, args(kind: u32), published), item);
        assert_eq!(found, "a published view with arguments needs `render`");
    }

    #[test]
    fn wrong_includes_are_errors_at_the_field() {
        let of = quote!(of = Payment);
        for (arguments, kind, rule, expected) in [
            (of.clone(), quote!(Option<ClaimView>), quote!(include(claim_id)), "`patient` must have the type"),
            (of.clone(), quote!(Included<ClaimView>), quote!(include(1)), "expected identifier"),
            (
                quote!(of = Payment, args(kind: u32)),
                quote!(Included<ClaimView>),
                quote!(include = None),
                "a view with related records needs `render`",
            ),
            (
                quote!(of = Payment, includes(claim)),
                quote!(Included<ClaimView>),
                quote!(include = None),
                "`patient` is not in `includes`",
            ),
            (
                quote!(of = Payment, includes(patient)),
                quote!(u32),
                quote!(none),
                "`patient` includes no related record",
            ),
        ] {
            let found = error(arguments, quote!(struct View { #[view(#rule)] patient: #kind }));
            assert!(found.starts_with(expected), "{found}");
        }
    }

    #[test]
    fn values_have_views_and_handlers_build_their_own() {
        let item = quote! {
            struct LocationView<'a> {
                id: u32,
                name: &'a str,
                /// The opening day, `YYYY-MM-DD`.
                opened: Option<String>,
                specialty: Option<()>,
                /// Its rooms.
                rooms: IncludedList<RoomView<'a>>,
            }
        };
        let text = expanded(quote!(value = LocationSetup, named = "location", only = "v2.2.2"), item.clone());
        for part in [
            "# [doc = \"Name of the location.\"] # [schemars (extend (\"x-versions\" = [\"v2.2.2\"]))] name",
            "# [schemars (extend (\"format\" = \"date\"))] # [schemars",
            "# [doc = \"Always null: no health record system provides it.\"]",
            "fn from_value (entry : & 'a LocationSetup ,) -> Self",
            "specialty : None , rooms : None",
        ] {
            assert!(text.contains(part), "{part} is not in {text}");
        }
        assert!(!text.contains("RecordView"), "{text}");
        let text = expanded(quote!(named = "location"), item);
        assert!(text.contains("\"Id of the location.\"") && !text.contains("impl"), "{text}");
        let found = error(
            quote!(),
            quote!(
                struct View {
                    /// The colour.
                    #[view(with = 1)]
                    colour: u32,
                }
            ),
        );
        assert!(found.starts_with("the value of a field needs"), "{found}");
    }

    #[test]
    fn errors_name_the_field_or_argument() {
        let undocumented = error(
            quote!(of = Payment),
            quote!(
                struct View {
                    colour: u32,
                }
            ),
        );
        assert!(undocumented.starts_with("`colour` needs documentation"), "{undocumented}");
        let unknown = error(
            quote!(of = Payment),
            quote!(
                struct View {
                    #[view(hidden)]
                    id: u32,
                }
            ),
        );
        assert!(unknown.starts_with("`hidden` must be `from = field`"), "{unknown}");
        let incomplete = error(
            quote!(named = "payment", published),
            quote!(
                struct View {}
            ),
        );
        assert!(incomplete.contains("`of = Payment`"), "{incomplete}");
        let twice = error(
            quote!(of = Payment, of = Charge),
            quote!(
                struct View {}
            ),
        );
        assert_eq!(twice, "`of` is given twice");
    }
}
