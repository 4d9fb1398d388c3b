//! The arguments of the attributes.

use proc_macro2::{Span, TokenStream};
use syn::{
    Attribute, Error, Expr, Field, Fields, Ident, ItemStruct, LitInt, LitStr, Path, Token, Type,
    meta::ParseNestedMeta,
    parse::{Parse, Parser},
    token::Paren,
};

/// Arguments above a record.
pub(crate) struct RecordRules {
    pub(crate) of: Option<Ident>,
    pub(crate) resource: Ident,
    pub(crate) tag: LitInt,
    pub(crate) id: Type,
    pub(crate) scope: Ident,
    pub(crate) contract: LitStr,
    pub(crate) name: LitStr,
    pub(crate) list: Option<LitStr>,
    pub(crate) writes: Vec<(Ident, LitStr)>,
    pub(crate) found_with: Option<Path>,
    pub(crate) named_with: Option<Path>,
    pub(crate) deleted_with: Option<Path>,
    pub(crate) local_extra: bool,
}

impl RecordRules {
    pub(crate) fn parse(arguments: TokenStream) -> syn::Result<RecordRules> {
        let (mut of, mut resource, mut tag, mut id, mut scope) = (None, None, None, None, None);
        let (mut contract, mut name, mut list, mut writes) = (None, None, None, Vec::new());
        let (mut found_with, mut named_with, mut deleted_with, mut local_extra) = (None, None, None, false);
        let parser = syn::meta::parser(|meta| {
            match meta.path.require_ident()?.to_string().as_str() {
                "of" => set(&mut of, &meta)?,
                "resource" => set(&mut resource, &meta)?,
                "tag" => set(&mut tag, &meta)?,
                "id" => set(&mut id, &meta)?,
                "scope" => set(&mut scope, &meta)?,
                "contract" => set(&mut contract, &meta)?,
                "name" => set(&mut name, &meta)?,
                "list" => set(&mut list, &meta)?,
                "writes" => meta.parse_nested_meta(|write| {
                    writes.push((write.path.require_ident()?.clone(), write.value()?.parse()?));
                    Ok(())
                })?,
                "found_with" => set(&mut found_with, &meta)?,
                "named_with" => set(&mut named_with, &meta)?,
                "deleted_with" => set(&mut deleted_with, &meta)?,
                "local_extra" => local_extra = true,
                _ => return Err(meta.error("is not an argument of a record")),
            }
            Ok(())
        });
        parser.parse2(arguments)?;
        Ok(RecordRules {
            of,
            resource: required(resource, "resource = Payments")?,
            tag: required(tag, "tag = 46")?,
            id: required(id, "id = u64")?,
            scope: required(scope, "scope = Source")?,
            contract: required(contract, "contract = \"payment\"")?,
            name: required(name, "name = \"Payment\"")?,
            list,
            writes,
            found_with,
            named_with,
            deleted_with,
            local_extra,
        })
    }
}

/// Parses `contract = ".."`, the only argument above a part.
pub(crate) fn contract_of_part(arguments: TokenStream) -> syn::Result<LitStr> {
    let mut contract = None;
    let parser = syn::meta::parser(|meta| {
        if !meta.path.is_ident("contract") {
            return Err(meta.error("is not an argument of a part"));
        }
        set(&mut contract, &meta)
    });
    parser.parse2(arguments)?;
    required(contract, "contract = \"split\"")
}

/// Sets an argument, which may be given once.
fn set<T: Parse>(argument: &mut Option<T>, meta: &ParseNestedMeta<'_>) -> syn::Result<()> {
    match argument.replace(meta.value()?.parse()?) {
        Some(_) => Err(meta.error("is given twice")),
        None => Ok(()),
    }
}

fn required<T>(argument: Option<T>, example: &str) -> syn::Result<T> {
    argument.ok_or_else(|| Error::new(Span::call_site(), format!("needs an argument like `{example}`")))
}

/// The relation between a field of the body and the EHR's record.
pub(crate) enum Role {
    Value,
    /// A reference, with the field of the EHR's form and the resource.
    Reference(Ident, Ident),
    Part,
    Local,
    /// A value of `extra` in the EHR's form.
    InExtra,
}

/// The index fields of a value.
pub(crate) enum Terms {
    /// The field of the value itself.
    Value(Ident),
    /// A field of each part, with its index field.
    Parts(Ident, Ident),
}

/// A field of a record with the arguments of its attribute.
pub(crate) struct RecordField {
    pub(crate) name: Ident,
    pub(crate) kind: Type,
    /// The documentation and the attributes for serde.
    pub(crate) attributes: Vec<Attribute>,
    pub(crate) role: Role,
    pub(crate) omit_missing: bool,
    pub(crate) limit: Option<Expr>,
    pub(crate) terms: Option<Terms>,
    pub(crate) in_use: bool,
    pub(crate) deleted: bool,
    pub(crate) change: bool,
}

/// The arguments above a field of a record.
pub(crate) const OF_RECORD: &[&str] =
    &["refers", "omit_missing", "part", "local", "in_extra", "limit", "find", "in_use", "deleted", "change"];

/// The arguments above a field of a part, or of a form in the EHR.
pub(crate) const OF_PART: &[&str] = &["refers", "limit"];

/// Takes the fields of a struct.
pub(crate) fn fields(item: &mut ItemStruct, allowed: &[&str]) -> syn::Result<Vec<RecordField>> {
    match std::mem::replace(&mut item.fields, Fields::Unit) {
        Fields::Named(fields) => fields.named.into_iter().map(|field| RecordField::parse(field, allowed)).collect(),
        _ => Err(Error::new_spanned(&item.ident, "a record has named fields")),
    }
}

impl RecordField {
    fn parse(field: Field, allowed: &[&str]) -> syn::Result<RecordField> {
        let Some(name) = field.ident.clone() else {
            return Err(Error::new_spanned(&field, "a record has named fields"));
        };
        let (of_record, attributes): (Vec<Attribute>, Vec<Attribute>) =
            field.attrs.into_iter().partition(|it| it.path().is_ident("record"));
        let mut parsed = RecordField {
            name,
            kind: field.ty,
            attributes,
            role: Role::Value,
            omit_missing: false,
            limit: None,
            terms: None,
            in_use: false,
            deleted: false,
            change: false,
        };
        for attribute in of_record {
            attribute.parse_nested_meta(|meta| parsed.set(&meta, allowed))?;
        }
        if parsed.omit_missing && !matches!(parsed.role, Role::Reference(..)) {
            return Err(Error::new_spanned(&parsed.name, "`omit_missing` needs `refers`"));
        }
        Ok(parsed)
    }

    fn set(&mut self, meta: &ParseNestedMeta<'_>, allowed: &[&str]) -> syn::Result<()> {
        let argument = meta.path.require_ident()?.to_string();
        if !allowed.contains(&argument.as_str()) {
            return Err(meta.error(format!("`{argument}` must be one of {}", allowed.join(", "))));
        }
        match argument.as_str() {
            "refers" if meta.input.peek(Token![=]) => {
                let resource = meta.value()?.parse()?;
                self.set_role(meta, Role::Reference(self.name.clone(), resource))?;
            }
            "refers" => {
                let (foreign, resource) = pair(meta)?;
                self.set_role(meta, Role::Reference(foreign, resource))?;
            }
            "omit_missing" => self.omit_missing = true,
            "part" => self.set_role(meta, Role::Part)?,
            "local" => self.set_role(meta, Role::Local)?,
            "in_extra" => self.set_role(meta, Role::InExtra)?,
            "limit" => {
                set(&mut self.limit, meta)?;
                if let Some(limit) = self.limit.as_ref().filter(|it| !matches!(it, Expr::Path(_) | Expr::Call(_))) {
                    return Err(Error::new_spanned(
                        limit,
                        "must be a `Limit`, such as `Long` or `Between(1, 12, \"..\")`",
                    ));
                }
            }
            "find" if meta.input.peek(Token![=]) => self.terms = Some(Terms::Value(meta.value()?.parse()?)),
            "find" => {
                let (of_part, index_field) = pair(meta)?;
                self.terms = Some(Terms::Parts(of_part, index_field));
            }
            "in_use" => self.in_use = true,
            "change" => self.change = true,
            _ => self.deleted = true,
        }
        Ok(())
    }

    fn set_role(&mut self, meta: &ParseNestedMeta<'_>, role: Role) -> syn::Result<()> {
        if !matches!(self.role, Role::Value) {
            return Err(meta.error("a field has only one of `refers`, `part`, `local` and `in_extra`"));
        }
        self.role = role;
        Ok(())
    }
}

/// Parses `(name = Value)`.
fn pair(meta: &ParseNestedMeta<'_>) -> syn::Result<(Ident, Ident)> {
    let mut pair = None;
    if !meta.input.peek(Paren) {
        return Err(meta.error("needs `(name = Value)`"));
    }
    meta.parse_nested_meta(|inner| {
        pair = Some((inner.path.require_ident()?.clone(), inner.value()?.parse()?));
        Ok(())
    })?;
    pair.ok_or_else(|| meta.error("needs `(name = Value)`"))
}
