//! The implementation of `RecordView`: the view for a reader, and the related records that `include[]` adds.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Error, Expr, FnArg, GenericArgument, Ident, ItemStruct, Pat, Path, PathArguments, Type};

/// Module of the crate with the views, which this crate does not depend on.
const RENDER: &str = "crate::views::render";

/// The source of a related record.
pub(crate) enum RelatedRecord {
    /// The field of the record with the id.
    Id(Ident),
    /// The view, from `entry` and `related`.
    With(Expr),
}

/// The name of a field with a related record, and the statement that sets it.
pub(crate) struct IncludedField(Ident, TokenStream);

impl IncludedField {
    pub(crate) fn new(name: &Ident, kind: &Type, record: &RelatedRecord) -> syn::Result<IncludedField> {
        let text = name.to_string();
        let statement = match (record, included_view(kind)) {
            (RelatedRecord::With(expr), _) => {
                quote!(if related.is_requested(#text) { view.#name = Some(#expr); })
            }
            (RelatedRecord::Id(id), Some(included)) => {
                quote!(view.#name = related.included::<#included>(#text, entry.body.#id)?;)
            }
            (RelatedRecord::Id(_), None) => {
                return Err(Error::new(name.span(), format!("`{name}` must have the type `Included<View>`")));
            }
        };
        Ok(IncludedField(name.clone(), statement))
    }
}

/// Returns the type of the view inside `Included<View>`.
pub(crate) fn included_view(kind: &Type) -> Option<&Type> {
    argument_of(kind, "Included")
}

/// Returns the type inside a generic type of this name.
pub(crate) fn argument_of<'t>(kind: &'t Type, name: &str) -> Option<&'t Type> {
    let Type::Path(path) = kind else { return None };
    let last = path.path.segments.last().filter(|last| last.ident == name)?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    match arguments.args.first()? {
        GenericArgument::Type(argument) => Some(argument),
        _ => None,
    }
}

/// Returns the expression for the view of a record, or `None` if the constructor needs more than record and adapter.
pub(crate) fn rendered<'a>(
    name: &Ident,
    mut arguments: impl Iterator<Item = &'a FnArg>,
    with_adapter: bool,
) -> Option<Expr> {
    let is_adapter = |argument: &FnArg| {
        let FnArg::Typed(typed) = argument else { return false };
        matches!(&*typed.pat, Pat::Ident(name) if name.ident == "adapter")
    };
    let first = arguments.next();
    if first.is_some_and(|it| !is_adapter(it)) || arguments.next().is_some() {
        return None;
    }
    Some(match first.is_some() || with_adapter {
        true => syn::parse_quote!(#name::from_record(entry, reader.adapter(entry.source_id))),
        false => syn::parse_quote!(#name::from_record(entry)),
    })
}

/// Implements `Published` for the body `of`, with the view that `RecordView` renders.
pub(crate) fn publish(item: &ItemStruct, of: &Path) -> syn::Result<TokenStream> {
    let (name, render) = (&item.ident, syn::parse_str::<Path>(RENDER)?);
    let view = if item.generics.lifetimes().next().is_some() { quote!(#name<'static>) } else { quote!(#name) };
    Ok(quote! {
        impl #render::Published for #of {
            type View = #view;

            fn publish(
                entry: &::engine::records::record::Record<#of>,
                context: &::engine::webhooks::views::ViewContext<'_>,
                _: &dyn ::engine::webhooks::views::RelatedRecords,
            ) -> #render::Rendered {
                #render::to_json(&<#view as #render::RecordView>::render(entry, context))
            }
        }
    })
}

/// Implements `RecordView` for the views of the body `of`. `order` has the fields with related records in the order of
/// the documentation; by default that of the struct.
pub(crate) fn implement(
    item: &ItemStruct,
    of: &Path,
    rendered: Option<Expr>,
    included: &[IncludedField],
    order: Vec<Ident>,
) -> syn::Result<TokenStream> {
    let Some(rendered) = rendered else {
        return included.first().map_or_else(
            || Ok(TokenStream::new()),
            |IncludedField(name, _)| Err(Error::new(name.span(), "a view with related records needs `render`")),
        );
    };
    let names: Vec<&Ident> = included.iter().map(|IncludedField(name, _)| name).collect();
    let order: Vec<&Ident> = if order.is_empty() { names.clone() } else { order.iter().collect() };
    if let Some(name) = names.iter().find(|name| !order.contains(name)) {
        return Err(Error::new(name.span(), format!("`{name}` is not in `includes`")));
    }
    if let Some(name) = order.iter().find(|name| !names.contains(name)) {
        return Err(Error::new(name.span(), format!("`{name}` includes no related record")));
    }
    let order = order.iter().map(|name| name.to_string());
    let statements = included.iter().map(|IncludedField(_, statement)| statement);
    let (name, render) = (&item.ident, syn::parse_str::<Path>(RENDER)?);
    let view = if item.generics.lifetimes().next().is_some() { quote!(#name<'view>) } else { quote!(#name) };
    let (generics, parameters, bounds) = item.generics.split_for_impl();
    let include = (!included.is_empty()).then(|| {
        quote! {
            const INCLUDES: &'static [&'static str] = &[#(#order),*];

            fn include<'view, R: #render::IncludedRecords>(
                view: &mut #view,
                entry: &'view ::engine::records::record::Record<#of>,
                related: &'view R,
            ) -> ::core::result::Result<(), R::Error> {
                #(#statements)*
                Ok(())
            }
        }
    });
    Ok(quote! {
        impl #generics #render::RecordView for #name #parameters #bounds {
            type Body = #of;
            type View<'view> = #view;

            #[allow(unused_variables)]
            fn render<'view>(
                entry: &'view ::engine::records::record::Record<#of>,
                reader: &'view dyn #render::Reader,
            ) -> #view {
                #rendered
            }

            #include
        }
    })
}
