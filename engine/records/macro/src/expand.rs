//! The expansion of the attributes.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};
use syn::{Error, Ident, ItemStruct, LitStr, Type};

use super::arguments::{OF_PART, OF_RECORD, RecordField, RecordRules, Role, Terms, contract_of_part, fields};

pub(crate) fn record(arguments: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let rules = RecordRules::parse(arguments)?;
    if let Some(of) = &rules.of {
        return Err(Error::new_spanned(of, "`of` is for `record_form`"));
    }
    let mut item: ItemStruct = syn::parse2(item)?;
    let fields = fields(&mut item, OF_RECORD)?;
    let (name, attributes, visibility) = (&item.ident, &item.attrs, &item.vis);
    let ehr = format_ident!("Ehr{name}");
    let ehr_form = ehr_form(&item, &ehr, fields.iter().filter_map(RecordField::in_ehr));
    let contract = contract_macro(name, &rules.contract, &ehr, with_frame(&fields));
    let limits = limits(&fields);
    let changes = changes(&item, &fields);
    let in_body = fields.iter().map(RecordField::in_stored_body);
    let schema = schema(&rules, name, &ehr, &fields);
    let resolved = fields.iter().map(RecordField::resolved);
    let for_ehr = fields.iter().filter_map(RecordField::for_ehr);
    let in_extra = fields.iter().filter(|field| matches!(field.role, Role::InExtra));
    let in_extra: Vec<&Ident> = in_extra.map(|field| &field.name).collect();
    let extra = match rules.local_extra {
        true => quote!(kept.map(|kept| kept.extra.clone()).unwrap_or_default()),
        false => quote!(::records::values::without_fields(&ehr.extra, &[#(stringify!(#in_extra)),*])),
    };
    let found_with = rules.found_with.iter();
    let terms = fields.iter().filter_map(RecordField::terms);
    let overridden = overridden_methods(&rules, name, &fields);
    Ok(quote! {
        #(#attributes)*
        #[derive(Clone, PartialEq, ::serde::Serialize, ::serde::Deserialize)]
        #visibility struct #name {
            #(#in_body,)*
            /// Values that the EHR has in addition to the fields.
            #[serde(default, skip_serializing_if = "Vec::is_empty")]
            pub extra: ::records::generated::Extra,
        }

        #changes

        /// Redacted, because the body may contain patient data.
        impl ::std::fmt::Debug for #name {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.write_str(concat!(stringify!(#name), "(redacted)"))
            }
        }

        #ehr_form

        #contract

        #limits

        const _: () = {
            use ::records::generated::*;

            #schema

            impl Body for #name {
                fn resolve<E: From<Invalid>>(
                    ehr: &#ehr,
                    kept: Option<&#name>,
                    resolve_id: ResolveId<'_, E>,
                ) -> Result<#name, E> {
                    // Unused by bodies without references or local fields.
                    let _ = (&resolve_id, kept);
                    Ok(#name { #(#resolved,)* extra: #extra })
                }

                fn for_ehr<E: From<Missing>>(&self, id: ForeignId, foreign_id_of: ForeignIdOf<'_, E>) -> Result<#ehr, E> {
                    let _ = &foreign_id_of;
                    let extra = ::records::values::with_fields(
                        &self.extra,
                        &[#((stringify!(#in_extra), self.#in_extra.as_deref())),*],
                    );
                    Ok(#ehr { id, #(#for_ehr,)* extra })
                }

                fn terms(&self) -> Vec<Term> {
                    let mut found = Vec::new();
                    #( found.extend(#found_with(self)); )*
                    #( #terms )*
                    found.sort();
                    found.dedup();
                    found
                }

                #overridden
            }
        };
    })
}

/// Returns the methods of a body that only some records override.
fn overridden_methods(rules: &RecordRules, name: &Ident, fields: &[RecordField]) -> TokenStream {
    let in_use = fields.iter().filter(|field| field.in_use).map(|RecordField { name, .. }| {
        quote! {
            fn in_use(&self) -> bool {
                Option::<bool>::from(self.#name) != Some(false)
            }
        }
    });
    let deleted = fields.iter().filter(|field| field.deleted).map(|RecordField { name: flag, .. }| {
        quote! {
            fn mark_deleted(record: &mut Record<#name>, _: Timestamp) {
                record.#flag = true;
            }

            fn is_deleted(record: &Record<#name>) -> bool {
                record.#flag
            }
        }
    });
    let named_with = rules.named_with.iter().map(|names| {
        quote! {
            fn names(&self) -> Vec<Term> {
                #names(self)
            }
        }
    });
    let deleted_with = rules.deleted_with.iter().map(|mark_deleted| {
        quote! {
            fn mark_deleted(record: &mut Record<#name>, now: Timestamp) {
                #mark_deleted(record, now);
            }
        }
    });
    quote! {
        #(#named_with)*
        #(#in_use)*
        #(#deleted)*
        #(#deleted_with)*
    }
}

pub(crate) fn part(arguments: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let contract = contract_of_part(arguments)?;
    let mut item: ItemStruct = syn::parse2(item)?;
    let fields = fields(&mut item, OF_PART)?;
    let (name, attributes, visibility) = (&item.ident, &item.attrs, &item.vis);
    let ehr = format_ident!("Ehr{name}");
    let contract = contract_macro(name, &contract, &ehr, fields.iter().filter_map(RecordField::in_contract));
    let limits = limits(&fields);
    let in_body = fields.iter().map(RecordField::in_body);
    let in_ehr = fields.iter().filter_map(RecordField::in_ehr);
    let resolved = fields.iter().map(RecordField::resolved);
    let for_ehr = fields.iter().filter_map(RecordField::for_ehr);
    Ok(quote! {
        #(#attributes)*
        #[derive(Clone, PartialEq, ::serde::Serialize, ::serde::Deserialize)]
        #visibility struct #name {
            #(#in_body,)*
        }

        #(#attributes)*
        ///
        /// In the EHR's form.
        #[derive(Clone, PartialEq, ::serde::Serialize, ::serde::Deserialize)]
        #visibility struct #ehr {
            #(#in_ehr,)*
        }

        #contract

        #limits

        const _: () = {
            use ::records::generated::*;

            impl Part for #name {
                type Ehr = #ehr;

                fn resolve<E: From<Invalid>>(ehr: &#ehr, resolve_id: ResolveId<'_, E>) -> Result<#name, E> {
                    Ok(#name { #(#resolved,)* })
                }

                fn for_ehr<E: From<Missing>>(&self, foreign_id_of: ForeignIdOf<'_, E>) -> Result<#ehr, E> {
                    Ok(#ehr { #(#for_ehr,)* })
                }
            }
        };
    })
}

pub(crate) fn form(arguments: TokenStream, item: TokenStream) -> syn::Result<TokenStream> {
    let rules = RecordRules::parse(arguments)?;
    let mut item: ItemStruct = syn::parse2(item)?;
    let fields = fields(&mut item, OF_PART)?;
    let ehr = &item.ident;
    let Some(body) = &rules.of else {
        return Err(Error::new_spanned(ehr, "`record_form` needs the body of the record: `of = Appointment`"));
    };
    if rules.local_extra || [&rules.found_with, &rules.named_with, &rules.deleted_with].iter().any(|it| it.is_some()) {
        let only = "`local_extra`, `found_with`, `named_with` and `deleted_with` are for `record`";
        return Err(Error::new_spanned(ehr, only));
    }
    let ehr_form = ehr_form(&item, ehr, fields.iter().map(RecordField::in_body));
    let contract = contract_macro(body, &rules.contract, ehr, with_frame(&fields));
    let limits = limits(&fields);
    let schema = schema(&rules, body, ehr, &fields);
    Ok(quote! {
        #ehr_form

        #contract

        #limits

        const _: () = {
            use ::records::generated::*;

            #schema
        };
    })
}

/// Generates the struct of a record in the EHR's form.
fn ehr_form(item: &ItemStruct, ehr: &Ident, fields: impl Iterator<Item = TokenStream>) -> TokenStream {
    let (attributes, visibility) = (&item.attrs, &item.vis);
    quote! {
        #(#attributes)*
        ///
        /// In the EHR's form.
        #[derive(Clone, PartialEq, ::serde::Serialize, ::serde::Deserialize)]
        #visibility struct #ehr {
            /// Identifier in the EHR; empty in a write that creates.
            #[serde(default)]
            pub id: ::records::generated::ForeignId,
            #(#fields,)*
            /// Values that the EHR has in addition to the fields.
            #[serde(default)]
            pub extra: ::records::generated::Extra,
        }

        /// Redacted, because the record may contain patient data.
        impl ::std::fmt::Debug for #ehr {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                write!(f, concat!(stringify!(#ehr), "({:?}, redacted)"), self.id)
            }
        }
    }
}

/// Generates the constants of a resource.
fn schema(rules: &RecordRules, body: &Ident, ehr: &Ident, fields: &[RecordField]) -> TokenStream {
    let RecordRules { resource, tag, id, scope, contract, name, list, writes, .. } = rules;
    let list = list.as_ref().map_or_else(|| snake_case(&resource.to_string()), LitStr::value);
    let refers_to = fields.iter().filter_map(|field| match &field.role {
        Role::Reference(foreign, to) => Some(quote!((stringify!(#foreign), Resource::#to))),
        _ => None,
    });
    let writes = writes.iter().map(|(operation, kind)| quote!((Operation::#operation, #kind)));
    quote! {
        impl Schema for #body {
            const RULES: ResourceRules = ResourceRules {
                resource: Resource::#resource,
                tag: #tag,
                scope: Scope::#scope,
                last_id: <#id as RecordId>::LAST,
                record: #contract,
                name: #name,
                list: #list,
                refers_to: &[#(#refers_to),*],
                writes: &[#(#writes),*],
            };

            type Id = #id;
            type Ehr = #ehr;
        }
    }
}

/// Generates the macro that passes the fields in the contract to another macro.
fn contract_macro(
    name: &Ident,
    contract: &LitStr,
    ehr: &Ident,
    fields: impl Iterator<Item = TokenStream>,
) -> TokenStream {
    let contract = Ident::new(&upper_camel(&contract.value()), contract.span());
    quote! {
        #[doc(hidden)]
        #[macro_export]
        macro_rules! #name {
            ($call:ident) => { $call! { #contract #ehr { #(#fields)* } } };
        }
    }
}

/// Generates the changes of a record by clients, if it has fields that they change.
fn changes(item: &ItemStruct, fields: &[RecordField]) -> Option<TokenStream> {
    let (body, visibility, changes) = (&item.ident, &item.vis, format_ident!("{}Change", item.ident));
    let changed: Vec<&RecordField> = fields.iter().filter(|field| field.change).collect();
    let names = changed.iter().map(|field| &field.name);
    let declared = changed.iter().map(|RecordField { name, kind, attributes, .. }| {
        let documentation = attributes.iter().filter(|it| it.path().is_ident("doc"));
        quote!(#(#documentation)* pub #name: Option<<#kind as ::records::values::Change>::Given>)
    });
    let text = format!("Changes of a [`{body}`] by a client. Absent fields stay unchanged.");
    let generated = quote! {
        #[doc = #text]
        #[derive(Clone, Default)]
        #visibility struct #changes {
            #(#declared,)*
        }

        impl #changes {
            /// Applies the changes to the body of a record.
            pub fn apply(&self, body: &mut #body) {
                #(
                    if let Some(given) = &self.#names {
                        ::records::values::Change::change(&mut body.#names, given);
                    }
                )*
            }
        }
    };
    (!changed.is_empty()).then_some(generated)
}

/// Refers to the limits, so that a wrong one is an error at its field, not in the crates that use the contract macro.
fn limits(fields: &[RecordField]) -> TokenStream {
    let limits = fields.iter().filter_map(|field| field.limit.as_ref());
    quote!(const _: &[::records::schema::Limit] = &[#(::records::schema::Limit::#limits),*];)
}

/// Converts the name of a resource to that of its list: `PaymentTypes` to `payment_types`.
fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

/// Converts a name of the contract to its type: `claim-amounts` to `ClaimAmounts`.
fn upper_camel(name: &str) -> String {
    let words = name.split('-').map(|word| {
        let (first, rest) = word.split_at(word.len().min(1));
        first.to_uppercase() + rest
    });
    words.collect()
}

/// Returns all fields of a record in the contract with their limits.
fn with_frame(fields: &[RecordField]) -> impl Iterator<Item = TokenStream> {
    let fields = fields.iter().filter_map(RecordField::in_contract);
    [quote!(id(Id))].into_iter().chain(fields).chain([quote!(extra(Short))])
}

impl RecordField {
    /// Declares the field of the body.
    fn in_body(&self) -> TokenStream {
        let RecordField { name, kind, attributes, .. } = self;
        let default = matches!(self.role, Role::Part | Role::Local).then(|| quote!(#[serde(default)]));
        quote!(#(#attributes)* #default pub #name: #kind)
    }

    /// Declares the field of a record's body. Without a value, it is not stored.
    fn in_stored_body(&self) -> TokenStream {
        let field = self.in_body();
        let is_option =
            matches!(&self.kind, Type::Path(of) if of.path.segments.last().is_some_and(|it| it.ident == "Option"));
        if is_option { quote!(#[serde(skip_serializing_if = "Option::is_none")] #field) } else { field }
    }

    /// Declares the field of the EHR's form.
    fn in_ehr(&self) -> Option<TokenStream> {
        let RecordField { name, kind, attributes, .. } = self;
        Some(match &self.role {
            Role::Value => quote!(#(#attributes)* pub #name: #kind),
            Role::Reference(foreign, _) => {
                quote!(#(#attributes)* pub #foreign: <#kind as ::records::generated::Reference>::Foreign)
            }
            Role::Part => {
                quote!(#(#attributes)* #[serde(default)] pub #name: <#kind as ::records::generated::Part>::Ehr)
            }
            Role::Local | Role::InExtra => return None,
        })
    }

    /// Returns the field in the contract with its limit.
    fn in_contract(&self) -> Option<TokenStream> {
        let name = &self.name;
        match (&self.role, &self.limit) {
            (Role::Local | Role::InExtra, _) => None,
            (Role::Reference(foreign, _), _) => Some(quote!(#foreign(Id))),
            (_, Some(limit)) => Some(quote!(#name(#limit))),
            (_, None) => Some(quote!(#name(Short))),
        }
    }

    /// Sets the field of the body from `ehr` or, if it is local, from `kept`.
    fn resolved(&self) -> TokenStream {
        let name = &self.name;
        match &self.role {
            Role::Value => quote!(#name: Clone::clone(&ehr.#name)),
            Role::Reference(foreign, to) => {
                quote!(#name: Reference::resolve(&ehr.#foreign, Resource::#to, resolve_id)?)
            }
            Role::Part => quote!(#name: Part::resolve(&ehr.#name, resolve_id)?),
            Role::Local => quote!(#name: kept.map(|kept| Clone::clone(&kept.#name)).unwrap_or_default()),
            Role::InExtra => quote!(#name: ::records::values::field_of(&ehr.extra, stringify!(#name))),
        }
    }

    /// Sets the field of the EHR's form from the body.
    fn for_ehr(&self) -> Option<TokenStream> {
        let name = &self.name;
        Some(match &self.role {
            Role::Value => quote!(#name: Clone::clone(&self.#name)),
            Role::Reference(foreign, to) if self.omit_missing => quote! {
                #foreign: match self.#name {
                    Some(id) => foreign_id_of(Resource::#to, id.into())?,
                    None => None,
                }
            },
            Role::Reference(foreign, to) => {
                quote!(#foreign: Reference::for_ehr(&self.#name, Resource::#to, foreign_id_of)?)
            }
            Role::Part => quote!(#name: Part::for_ehr(&self.#name, foreign_id_of)?),
            Role::Local | Role::InExtra => return None,
        })
    }

    /// Adds the index terms of the field to `found`.
    fn terms(&self) -> Option<TokenStream> {
        let name = &self.name;
        Some(match self.terms.as_ref()? {
            Terms::Value(index_field) => quote!(Findable::find(&self.#name, Field::#index_field, &mut found);),
            Terms::Parts(of_part, index_field) => quote! {
                self.#name.iter().for_each(|part| Findable::find(&part.#of_part, Field::#index_field, &mut found));
            },
        })
    }
}
