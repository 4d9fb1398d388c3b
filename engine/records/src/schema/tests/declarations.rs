//! Errors of wrong declarations, and the code that they are about. The sources of the macros are compiled again,
//! because a crate of macros exports no functions.

#[path = "../../../macro/src/arguments.rs"]
mod arguments;
#[path = "../../../macro/src/expand.rs"]
mod expand;

use proc_macro2::TokenStream;

type Attribute = fn(TokenStream, TokenStream) -> syn::Result<TokenStream>;

const PAYMENT: &str =
    r#"resource = Payments, tag = 46, id = u64, scope = Source, contract = "payment", name = "Payment""#;

/// Returns the error of a declaration, after the code that it is about.
fn error(attribute: Attribute, arguments: &str, item: &str) -> String {
    let expanded = attribute(arguments.parse().unwrap(), item.parse().unwrap());
    let error = expanded.map(|_| ()).unwrap_err();
    format!("{}: {error}", error.span().source_text().unwrap_or_default())
}

#[test]
fn correct_declarations_expand() {
    let body = "struct Payment { #[record(refers(patient = Patients))] id: u64, #[record(limit = Long, change)] note: String }";
    assert!(expand::record(PAYMENT.parse().unwrap(), body.parse().unwrap()).is_ok());
    let part = "struct Split { #[record(limit = Between(1, 12, \"must be 1 to 12\"))] month: u8 }";
    assert!(expand::part("contract = \"split\"".parse().unwrap(), part.parse().unwrap()).is_ok());
    let form = "struct EhrPayment { #[record(refers = Patients)] patient: String }";
    assert!(expand::form(format!("of = Payment, {PAYMENT}").parse().unwrap(), form.parse().unwrap()).is_ok());
}

#[test]
fn errors_of_fields_point_at_the_argument() {
    for (rule, expected) in [
        ("hidden", "hidden: `hidden` must be one of refers, "),
        ("refers", "refers: needs `(name = Value)`"),
        ("refers(patient)", "expected `=`"),
        ("find(charge_id = 1)", "1: expected identifier"),
        ("limit = 5", "5: must be a `Limit`, such as `Long`"),
        ("limit = \"Long\"", "\"Long\": must be a `Limit`, such as `Long`"),
        ("limit = Long, limit = Short", "limit = Short: is given twice"),
        ("omit_missing", "kind: `omit_missing` needs `refers`"),
        ("refers = Patients, in_extra", "in_extra: a field has only one of `refers`, "),
        ("part, local", "local: a field has only one of `refers`, `part`, `local` and `in_extra`"),
    ] {
        let found =
            error(expand::record, PAYMENT, &format!("struct Payment {{ id: u64, #[record({rule})] kind: u32 }}"));
        assert!(found.contains(expected), "{rule}: {found}");
    }
}

#[test]
fn errors_of_records_point_at_the_argument_or_name_the_missing_one() {
    let body = "struct Payment { id: u64 }";
    for (attribute, arguments, item, expected) in [
        (expand::record as Attribute, format!("{PAYMENT}, colour = 1"), body, "colour: is not an argument of a record"),
        (expand::record, format!("{PAYMENT}, tag = 47"), body, "tag = 47: is given twice"),
        (expand::record, PAYMENT.replace("tag = 46", "tag = Payments"), body, "Payments: expected integer literal"),
        (expand::record, PAYMENT.replace("tag = 46, ", ""), body, ": needs an argument like `tag = 46`"),
        (expand::record, format!("of = Payment, {PAYMENT}"), body, "Payment: `of` is for `record_form`"),
        (expand::record, PAYMENT.to_owned(), "struct Payment(u64);", "Payment: a record has named fields"),
        (expand::part, "name = \"split\"".to_owned(), body, "name: is not an argument of a part"),
        (expand::part, String::new(), body, ": needs an argument like `contract = \"split\"`"),
        (expand::form, PAYMENT.to_owned(), body, "Payment: `record_form` needs the body of the record"),
        (expand::form, format!("of = Payment, {PAYMENT}, local_extra"), body, "Payment: `local_extra`, "),
    ] {
        let found = error(attribute, &arguments, item);
        assert!(found.contains(expected), "{arguments}: {found}");
    }
}
