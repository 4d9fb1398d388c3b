//! Kinds of values: the parser for query parameters and JSON fields together with its documentation. One value provides
//! both, so that they cannot differ.

pub mod reference;
pub mod shared;
pub mod times;

use std::{
    any::Any,
    ops::RangeInclusive,
    str::FromStr,
    sync::{Arc, OnceLock},
};

use chrono_tz::Tz;
use engine::records::demographics::phone;
use location::Resource;
use rust_decimal::Decimal;
use schemars::{Schema, json_schema};
use serde_json::{Map, Value, json};

use crate::values::limits::{INT32, INT64, MAX_AMOUNT_DIGITS, MAX_ECHO, MAX_EMAIL, MAX_NAME, MAX_PHONE};

/// The parsed value; the error completes the sentence "<name> ...".
pub type Parsed<T> = Result<T, String>;

/// Value from the client; text is trimmed.
#[derive(Clone, Copy, Debug)]
pub enum Raw<'a> {
    Text(&'a str),
    Json(&'a Value),
}

/// The schema that a kind accepts, and a valid example.
#[derive(Clone, Debug)]
pub struct Shape {
    pub schema: Value,
    pub example: Value,
    pub about: &'static str,
    /// Left out of the example of a body: an alternative to other fields, or an id that may not exist.
    pub omit_from_example: bool,
    /// The example was chosen for this field and takes precedence over the usual example of its name.
    pub chosen: bool,
}

/// A resource, and the function that returns an id of it.
type ReferenceTo<T> = (Resource, fn(&T) -> u64);

/// A parser and its documentation. The shape is built only on demand, never for a request.
pub struct Kind<T> {
    read: Arc<dyn Fn(Raw<'_>) -> Parsed<T> + Send + Sync>,
    shape: Arc<dyn Fn() -> Shape + Send + Sync>,
    /// Resource of the referenced record if the value is an id.
    refers_to: Option<ReferenceTo<T>>,
}

impl<T: 'static> Kind<T> {
    pub fn new(
        schema: impl Fn() -> Value + Send + Sync + 'static,
        example: impl Into<Value> + Clone + Send + Sync + 'static,
        read: impl Fn(Raw<'_>) -> Parsed<T> + Send + Sync + 'static,
    ) -> Kind<T> {
        let shape = move || {
            let (schema, example) = (schema(), example.clone().into());
            Shape { schema, example, about: "", omit_from_example: false, chosen: false }
        };
        Kind { read: Arc::new(read), shape: Arc::new(shape), refers_to: None }
    }

    /// Creates a kind for values that are strings in JSON.
    pub fn for_text(
        schema: impl Fn() -> Value + Send + Sync + 'static,
        example: impl Into<Value> + Clone + Send + Sync + 'static,
        read: impl Fn(&str) -> Parsed<T> + Send + Sync + 'static,
    ) -> Kind<T> {
        Kind::new(schema, example, move |raw| read(raw.text()?))
    }

    pub fn read(&self, raw: Raw<'_>) -> Parsed<T> {
        (self.read)(raw)
    }

    pub fn text(&self, text: &str) -> Parsed<T> {
        self.read(Raw::Text(text.trim()))
    }

    pub fn json(&self, value: &Value) -> Parsed<T> {
        self.read(Raw::Json(value))
    }

    pub fn shape(&self) -> Shape {
        (self.shape)()
    }

    /// Parses the example. Returns `None` for values that only the server can make, such as cursors.
    pub fn example(&self) -> Option<T> {
        self.json(&self.shape().example).ok()
    }

    /// Returns a placeholder for a missing or invalid value that was reported; the request will be refused.
    pub fn placeholder(&self) -> T {
        self.example().expect("a kind can read its own example, as the test that describes every route checks")
    }

    pub fn default_value(&self, default: &Value) -> T {
        self.json(default).expect("a default is valid, as the test that describes every route checks")
    }

    pub fn map<U: 'static>(self, into: impl Fn(T) -> U + Send + Sync + 'static) -> Kind<U> {
        self.and_then(move |value| Ok(into(value)))
    }

    /// Adds a condition or conversion.
    pub fn and_then<U: 'static>(self, further: impl Fn(T) -> Parsed<U> + Send + Sync + 'static) -> Kind<U> {
        let Kind { read, shape, .. } = self;
        Kind { read: Arc::new(move |raw| further(read(raw)?)), shape, refers_to: None }
    }

    pub fn about(self, about: &'static str) -> Kind<T> {
        let shape = self.shape;
        Kind { shape: Arc::new(move || Shape { about, ..shape() }), ..self }
    }

    /// Leaves the value out of the example. Of mutually exclusive fields all but one are marked.
    pub fn omit_from_example(self) -> Kind<T> {
        let shape = self.shape;
        Kind { shape: Arc::new(move || Shape { omit_from_example: true, ..shape() }), ..self }
    }

    pub fn example_of(self, example: impl Into<Value> + Clone + Send + Sync + 'static) -> Kind<T> {
        let shape = self.shape;
        let shape = move || Shape { example: example.clone().into(), chosen: true, ..shape() };
        Kind { shape: Arc::new(shape), ..self }
    }
}

impl<T> Clone for Kind<T> {
    fn clone(&self) -> Kind<T> {
        Kind { read: self.read.clone(), shape: self.shape.clone(), refers_to: self.refers_to }
    }
}

/// The kind of one declared field, built once for all requests. The place of use determines its type. `#[input]`
/// declares one per field, and `shared` one per kind.
#[derive(Default)]
pub struct FieldKind(OnceLock<Box<dyn Any + Send + Sync>>);

impl FieldKind {
    pub const fn new() -> FieldKind {
        FieldKind(OnceLock::new())
    }

    /// Returns the kind, which the first call builds.
    pub fn get<T: 'static>(&self, build: impl FnOnce() -> Kind<T>) -> Kind<T> {
        let kind = self.0.get_or_init(|| Box::new(build()));
        kind.downcast_ref::<Kind<T>>().expect("one field has one type").clone()
    }
}

impl<'a> Raw<'a> {
    fn text(self) -> Parsed<&'a str> {
        match self {
            Raw::Text(text) => Ok(text),
            Raw::Json(Value::String(text)) => Ok(text.trim()),
            Raw::Json(_) => Err("must be a string".into()),
        }
    }
}

/// Returns the part of a client's text that may appear in a response.
pub fn echo(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(MAX_ECHO).collect()
}

// Numbers

pub fn integer(range: RangeInclusive<i64>) -> Kind<i64> {
    let (min, max) = (*range.start(), *range.end());
    let format = if max > i32::MAX.into() { "int64" } else { "int32" };
    let schema = move || json!({"type": "integer", "format": format, "minimum": min, "maximum": max});
    Kind::new(schema, min, move |raw| {
        let outside = || format!("must be between {min} and {max}");
        let (number, is_number) = match raw {
            Raw::Text(text) => (text.parse().ok(), is_number(text)),
            // Many clients send ids as strings.
            Raw::Json(Value::String(text)) => (text.trim().parse().ok(), is_number(text.trim())),
            Raw::Json(value) => (value.as_i64().or_else(|| whole(value)), value.is_u64()),
        };
        match number {
            Some(number) if range.contains(&number) => Ok(number),
            None if !is_number => Err("must be an integer".into()),
            _ => Err(outside()),
        }
    })
}

/// Returns an integral number as an integer: JSON does not distinguish `30.0` from 30.
fn whole(value: &Value) -> Option<i64> {
    value.as_f64().filter(|float| float.fract() == 0.0 && float.abs() < EXACT).map(|float| float as i64)
}

/// Below this limit every whole float is exactly one integer.
const EXACT: f64 = 9_007_199_254_740_992.0;

fn is_number(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit())
}

/// Reads an id that the API declares int32.
pub fn id() -> Kind<u32> {
    integer(INT32).map(|id| id as u32)
}

/// Reads an id that the API declares int64.
pub fn long_id() -> Kind<u64> {
    integer(INT64).map(|id| id as u64)
}

/// Reads a boolean, also in the spellings of Python and of HTML forms.
pub fn boolean() -> Kind<bool> {
    let schema = || json!({"type": "boolean"});
    Kind::new(schema, true, |raw| match raw {
        Raw::Text("true" | "True" | "1") | Raw::Json(Value::Bool(true)) => Ok(true),
        Raw::Text("false" | "False" | "0") | Raw::Json(Value::Bool(false)) => Ok(false),
        Raw::Json(Value::String(text)) if ["true", "True"].contains(&text.trim()) => Ok(true),
        Raw::Json(Value::String(text)) if ["false", "False"].contains(&text.trim()) => Ok(false),
        _ => Err("must be true or false".into()),
    })
}

/// Parses an amount of money, a JSON number or a decimal text, from its digits without float arithmetic. A third
/// decimal is accepted here; the caller checks it once the currency is known.
pub fn money() -> Kind<Decimal> {
    let schema = || json!({"type": ["number", "string"], "pattern": r"^-?\d{1,10}(\.\d{1,2})?$"});
    Kind::new(schema, "125.50", |raw| match raw {
        Raw::Text(text) => amount(text),
        Raw::Json(Value::String(text)) => amount(text.trim()),
        Raw::Json(Value::Number(number)) => amount(&number.to_string()),
        Raw::Json(_) => Err(AMOUNT.into()),
    })
}

/// Reads an amount of either sign, except zero.
pub fn nonzero_money() -> Kind<Decimal> {
    money().and_then(|amount: Decimal| if amount.is_zero() { Err("must not be zero".into()) } else { Ok(amount) })
}

const AMOUNT: &str = "must be an amount such as 125.50, with at most 10 digits before the point";
const MOST_DECIMALS: usize = 3;

fn amount(text: &str) -> Parsed<Decimal> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (whole, decimals) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
    let digits = |digits: &str| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
    let plain =
        digits(whole) && digits(decimals) && decimals.len() <= MOST_DECIMALS && whole.len() <= MAX_AMOUNT_DIGITS;
    if !plain {
        return Err(AMOUNT.into());
    }
    Decimal::from_str(text).map_err(|_| AMOUNT.into())
}

// Texts

/// Text without control characters except line ends and tabs.
const PLAIN: &str = r"^[^\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F]*$";

pub fn text(max: usize) -> Kind<String> {
    let schema = move || json!({"type": "string", "maxLength": max, "pattern": PLAIN});
    let example: String = "text".chars().take(max).collect();
    Kind::for_text(schema, example, move |text| plain(text, max))
}

/// Checks a text for its length and for control characters.
fn plain(text: &str, max: usize) -> Parsed<String> {
    if text.chars().count() > max {
        Err(format!("must not be longer than {max} characters"))
    } else if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
        Err("must not contain control characters".into())
    } else {
        Ok(text.to_owned())
    }
}

/// Reads the name of a person or a thing: one visible line without changes of the writing direction.
pub fn person_name(max: usize) -> Kind<String> {
    let read = filled(text(max)).and_then(|name| {
        if name.chars().any(|c| c.is_control() || is_line_end_or_direction_mark(c)) {
            return Err("must not contain line ends, control characters or marks of writing direction".into());
        }
        // Some scripts need joiners.
        let unseen = |c: char| invisible(c) && !matches!(c, ' ' | '\u{a0}' | '\u{200c}' | '\u{200d}' | '\u{2019}');
        if name.chars().any(|c| unseen(c) && !c.is_whitespace()) {
            return Err("must not contain characters that cannot be seen".into());
        }
        Ok(name)
    });
    let schema = move || {
        let seen = format!("^[^{REFUSED}]*[^{REFUSED}{BLANK}][^{REFUSED}]*$");
        json!({"type": "string", "minLength": 1, "maxLength": max, "pattern": seen})
    };
    Kind::for_text(schema, "text", move |given| read.text(given))
}

/// Characters refused in names: line ends, marks of writing direction, and invisible characters.
const REFUSED: &str = concat!(
    r"\u0000-\u001F\u007F-\u009F\u00AD\u034F\u061C\u115F\u1160\u17B4\u17B5\u180E\u200B\u200E\u200F\u2028-\u202E",
    r"\u2060-\u2069\u3164\uFEFF\uFFA0"
);
/// Spaces, and characters that join letters.
const BLANK: &str = r"\u0020\u00A0\u1680\u2000-\u200A\u200C\u200D\u202F\u205F\u3000";

fn is_line_end_or_direction_mark(c: char) -> bool {
    matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}' | '\u{2029}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

fn invisible(c: char) -> bool {
    c.is_whitespace()
        || c.is_control()
        || is_line_end_or_direction_mark(c)
        || matches!(c, '\u{ad}' | '\u{34f}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}' | '\u{180e}'
            | '\u{200b}'..='\u{200d}' | '\u{2060}'..='\u{2065}' | '\u{3164}' | '\u{feff}' | '\u{ffa0}')
}

pub fn gender() -> Kind<&'static str> {
    const KNOWN: &[&str] = &["Male", "Female", "Other"];
    let schema = || named("Gender", "Gender, as recorded by health record systems.", KNOWN).to_value();
    Kind::for_text(schema, "Female", |given| {
        let known = KNOWN.iter().find(|known| {
            let letter = known[..1].eq_ignore_ascii_case(given) && **known != "Other";
            letter || known.eq_ignore_ascii_case(given)
        });
        known.copied().ok_or_else(|| format!("must be one of {}", KNOWN.join(", ")))
    })
    .about("Gender, in upper or lower case; `F` and `M` are accepted.")
}

/// Refuses empty texts, which bodies otherwise accept.
pub fn filled<T: 'static>(kind: Kind<T>) -> Kind<T> {
    let Kind { read, shape, .. } = kind;
    let filled = move |raw: Raw<'_>| match raw.text() {
        // Text of invisible characters only is empty.
        Ok(given) if given.chars().all(invisible) => Err("must not be empty".into()),
        _ => read(raw),
    };
    let shape = move || {
        let mut shape = shape();
        require_nonempty(&mut shape.schema);
        shape
    };
    Kind { read: Arc::new(filled), shape: Arc::new(shape), refers_to: None }
}

/// Plain text with at least one character other than spaces.
const FILLED: &str = concat!(
    r"^[^\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F]*",
    r"[^\u0000-\u0020\u007F-\u00A0\u1680\u2000-\u200A\u2028\u2029\u202F\u205F\u3000]",
    r"[^\u0000-\u0008\u000B\u000C\u000E-\u001F\u007F-\u009F]*$"
);

/// Adds to a schema that the text must not be empty.
pub fn require_nonempty(schema: &mut Value) {
    if schema["type"] == "string" && schema.get("enum").is_none() {
        schema["minLength"] = json!(1);
        if schema["pattern"] == PLAIN {
            schema["pattern"] = json!(FILLED);
        }
    }
}

/// Schema keyword for words that have a named schema in the documents, with its name and description.
pub const NAMED: &str = "x-words";

/// Returns the schema of a closed list with a name in the documents: see `values::words`.
pub fn named(name: &str, about: &str, words: &[&str]) -> Schema {
    json_schema!({"type": "string", "enum": words, (NAMED): {"name": name, "about": about}})
}

/// Reads one of a closed list of names.
pub fn one_of<T: Copy + Send + Sync + 'static>(names: &'static [(&'static str, T)]) -> Kind<T> {
    let all = || names.iter().map(|(name, _)| *name);
    let example = all().next().unwrap_or_default();
    let schema = move || json!({"type": "string", "enum": all().collect::<Vec<_>>()});
    Kind::for_text(schema, example, move |text| match names.iter().find(|(name, _)| *name == text) {
        Some((_, value)) => Ok(*value),
        None => Err(format!("must be one of {}", all().collect::<Vec<_>>().join(", "))),
    })
}

/// Reads one of a closed list. `wrong` gets the list and the value.
fn listed(names: &'static [&'static str], wrong: fn(&str, &str) -> String) -> Kind<&'static str> {
    let schema = move || json!({"type": "string", "enum": names});
    Kind::for_text(schema, names.first().copied().unwrap_or_default(), move |text| {
        names.iter().find(|name| **name == text).copied().ok_or_else(|| wrong(&names.join(", "), text))
    })
}

pub fn name_of(names: &'static [&'static str]) -> Kind<&'static str> {
    listed(names, |names, _| format!("must be one of {names}"))
}

pub fn includes(names: &'static [&'static str]) -> Kind<&'static str> {
    let kind = listed(names, |names, text| format!("must be one of {names}, not {}", echo(text)));
    kind.about("Related records to include.")
}

/// Reads a local part without `@` or whitespace, then `@`, then a domain (specification 4.4).
pub fn email() -> Kind<String> {
    let schema = || json!({"type": "string", "format": "email", "maxLength": MAX_EMAIL});
    Kind::for_text(schema, "pat.lee@example.com", |given| {
        let given = plain(given.trim(), MAX_EMAIL)?;
        let label = |label: &str| !label.is_empty() && label.chars().all(|c| c.is_alphanumeric() || c == '-');
        let valid = given.rsplit_once('@').is_some_and(|(local, domain)| {
            let local_valid = !local.is_empty() && !local.contains('@') && !local.contains(char::is_whitespace);
            local_valid && domain.contains('.') && domain.split('.').all(label)
        });
        if valid { Ok(given) } else { Err("must be an email address".into()) }
    })
    .about("E-mail address.")
}

/// 7 to 20 digits with separators, and an extension. The parser accepts more forms of an extension.
const PHONE: &str = "^[+]?[ (]*([0-9][ ().-]*){7,20}((x|#|ext[.]|;ext=) ?[0-9]{1,7})?$";

pub fn phone() -> Kind<String> {
    let schema = || json!({"type": "string", "maxLength": MAX_PHONE, "pattern": PHONE});
    Kind::for_text(schema, "+1 (555) 010-9999", |given| {
        let given = plain(given.trim(), MAX_PHONE)?;
        if phone::is_number(&given) { Ok(given) } else { Err("must be a phone number".into()) }
    })
    .about("Phone number, optionally with an extension.")
}

/// Reads a social security number, with its dashes or without.
pub fn ssn() -> Kind<String> {
    let schema = || json!({"type": "string", "pattern": "^[0-9]{3}-?[0-9]{2}-?[0-9]{4}$"});
    Kind::for_text(schema, "000-00-0000", |given| {
        let shape: String = given.chars().map(|c| if c.is_ascii_digit() { '9' } else { c }).collect();
        let known = ["999-99-9999", "999999999", "99999-9999", "999-999999"].contains(&shape.as_str());
        if known { Ok(given.to_owned()) } else { Err("must have 9 digits, such as 000-00-0000".into()) }
    })
    .about("Social security number.")
}

/// Reads the code of a country or a state: two letters, converted to upper case.
pub fn two_letters() -> Kind<String> {
    let schema = || json!({"type": "string", "pattern": "^[A-Za-z]{2}$"});
    Kind::for_text(schema, "NY", |given| {
        let valid = given.len() == 2 && given.bytes().all(|b| b.is_ascii_alphabetic());
        if valid { Ok(given.to_ascii_uppercase()) } else { Err("must be a code of two letters".into()) }
    })
}

pub fn uuid() -> Kind<uuid::Uuid> {
    let schema = || json!({"type": "string", "format": "uuid"});
    Kind::for_text(schema, "3d8f2c1e-6f0b-4f6e-9f53-0a3a5f6f8b11", |given| {
        uuid::Uuid::try_parse(given).ok().filter(|_| given.len() == 36).ok_or_else(|| "must be a uuid".into())
    })
}

pub fn zone() -> Kind<Tz> {
    let schema = || json!({"type": "string", "maxLength": MAX_NAME});
    let wrong = |text: &str| format!("must be an IANA time zone such as America/New_York, not {:?}", echo(text));
    Kind::for_text(schema, "America/New_York", move |text| text.parse().map_err(|_| wrong(text)))
        .about("The IANA time zone in which times without an offset are read.")
}

// Objects, in bodies only. Their fields are read by path.

pub fn object(about: &'static str) -> Kind<()> {
    object_kind(|_| ()).about(about)
}

pub fn json_object() -> Kind<Map<String, Value>> {
    object_kind(Map::clone)
}

fn object_kind<T: 'static>(take: impl Fn(&Map<String, Value>) -> T + Send + Sync + 'static) -> Kind<T> {
    Kind::new(
        || json!({"type": "object"}),
        Map::new(),
        move |raw| match raw {
            Raw::Json(Value::Object(object)) => Ok(take(object)),
            _ => Err("must be an object".into()),
        },
    )
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::{
        shared::{sort, sorts},
        *,
    };

    fn all<T: 'static>(kind: Kind<T>, right: &[&str], wrong: &[&str]) {
        assert!(kind.example().is_some(), "its own example {}", kind.shape().example);
        right.iter().for_each(|text| assert!(kind.text(text).is_ok(), "{text}"));
        wrong.iter().for_each(|text| assert!(kind.text(text).is_err(), "{text}"));
    }

    #[test]
    fn text_kinds_accept_valid_and_refuse_invalid_values() {
        all(
            email(),
            &["a@b.co", "a.b+c@d-e.example", "ü@b.example"],
            &["a", "@b.co", "a@b", "a b@c.de", "a@@b.co", "a@b..co", "a@.co"],
        );
        all(
            phone(),
            &["+1 (555) 010-9999", "5550109", "555.010.9999 x12", "+1-201-555-0123;ext=45", "(212) 555-0140 ext. 7"],
            &["555", "555 x0109999", "call me", "5550109; drop", "0".repeat(41).as_str()],
        );
        all(
            ssn(),
            &["078-05-1120", "078051120"],
            &[
                "", "1", "abc", "07805112", "0780511200", "078-05-112a", "078-0511-20", "07-805-1120", "078 05 1120",
                "078--05-1120",
            ],
        );
        all(two_letters(), &["NY", "de"], &["", "N", "NYC", "N1", "é"]);
        all(
            uuid(),
            &["3d8f2c1e-6f0b-4f6e-9f53-0a3a5f6f8b11"],
            &["", "3d8f2c1e6f0b4f6e9f530a3a5f6f8b11", "{3d8f2c1e-6f0b-4f6e-9f53-0a3a5f6f8b11}"],
        );
        all(sort(&["id", "name"]), &["id", "-id", "name"], &["", "--id", "other"]);
        all(
            sorts(&["created_at"]),
            &["created_at", "-created_at", "created_at,-created_at"],
            &["", ",", "created_at,other"],
        );
        all(integer(1..=60), &["1", "60", "+7"], &["", "0", "61", "1.0", "x", "99999999999999999999"]);
        all(filled(text(3)), &["abc"], &["", "  ", "abcd", "a\u{0}"]);
        all(boolean(), &["true", "false", "0", "1"], &["", "yes"]);
        all(zone(), &["Europe/Berlin"], &["Mars/Base"]);
        all(json_object(), &[], &["{}"]);
    }

    #[test]
    fn every_kind_refuses_other_json_types_with_its_sentence() {
        fn refused<T: 'static>(sentence: &str, kind: Kind<T>, values: &[Value]) {
            for value in values {
                assert_eq!(kind.json(value).err().as_deref(), Some(sentence), "{value}");
            }
        }
        let (number, fraction, word, flag) = (json!(7), json!(7.5), json!("seven"), json!(true));
        let (list, map) = (json!([7]), json!({"7": 7}));
        let all = [number, fraction, word, flag, list, map];
        let [number, fraction, word, flag, list, map] = &all;
        let some = |values: &[&Value]| -> Vec<Value> { values.iter().map(|value| (*value).clone()).collect() };
        refused("must be an integer", integer(1..=60), &all[1..]);
        refused("must be an integer", id(), &all[1..]);
        refused("must be an integer", long_id(), &all[1..]);
        refused("must be true or false", boolean(), &some(&[number, fraction, word, list, map]));
        refused(AMOUNT, money(), &some(&[word, flag, list, map]));
        refused(AMOUNT, nonzero_money(), &some(&[word, flag, list, map]));
        refused("must be an object", object(""), &all[..5]);
        refused("must be an object", json_object(), &all[..5]);
        let no_text = some(&[number, fraction, flag, list, map]);
        let text_only = "must be a string";
        refused(text_only, text(9), &no_text);
        refused(text_only, filled(text(9)), &no_text);
        refused(text_only, person_name(9), &no_text);
        refused(text_only, gender(), &no_text);
        refused(text_only, one_of(&[("a", 1)]), &no_text);
        refused(text_only, name_of(&["a"]), &no_text);
        refused(text_only, includes(&["a"]), &no_text);
        refused(text_only, sort(&["a"]), &no_text);
        refused(text_only, sorts(&["a"]), &no_text);
        refused(text_only, email(), &no_text);
        refused(text_only, phone(), &no_text);
        refused(text_only, ssn(), &no_text);
        refused(text_only, two_letters(), &no_text);
        refused(text_only, uuid(), &no_text);
        refused(text_only, zone(), &no_text);
        refused(text_only, crate::values::words::word::<location::hours::Weekday>(), &no_text);
        let clock = times::Clock::default();
        refused(text_only, times::date(), &no_text);
        refused(text_only, times::date_or_instant(&clock, |_| (), |_| ()), &no_text);
        refused(text_only, times::birth_date(location::zone::Date::MAX), &no_text);
        refused(text_only, times::time_of_day(), &no_text);
        refused(text_only, times::instant(&clock), &no_text);
        refused(text_only, times::end_of(&clock), &no_text);
    }

    #[test]
    fn the_kind_of_a_field_is_built_once() {
        static KIND: FieldKind = FieldKind::new();
        let mut built = 0;
        for given in [1, 2] {
            let kind = KIND.get(|| {
                built += 1;
                id()
            });
            assert_eq!(kind.json(&json!(given)), Ok(given));
        }
        assert_eq!(built, 1);
    }

    #[test]
    fn money_is_read_digit_by_digit() {
        let read = |value: Value| money().json(&value).map(|amount| amount.to_string());
        assert_eq!(read(json!(0.1)).as_deref(), Ok("0.1"));
        assert_eq!(read(json!(9_999_999_999.99)).as_deref(), Ok("9999999999.99"));
        assert_eq!(read(json!("125.50")).as_deref(), Ok("125.50"));
        assert_eq!(read(json!(-7)).as_deref(), Ok("-7"));
        for wrong in [
            json!(0.0001),
            json!(1e21),
            json!(1e-7),
            json!("1e2"),
            json!("1,5"),
            json!("+1"),
            json!(" "),
            json!(true),
            json!(10_000_000_000_i64),
            json!(".5"),
            json!("5."),
        ] {
            assert_eq!(read(wrong.clone()).unwrap_err(), AMOUNT, "{wrong}");
        }
        assert!(nonzero_money().json(&json!("-0.00")).is_err() && nonzero_money().json(&json!("-0.01")).is_ok());
    }

    #[test]
    fn numbers_and_their_edges() {
        for (given, expected) in [
            ("1", Ok(1)),
            ("2147483647", Ok(2147483647)),
            ("0", Err("must be between 1 and 2147483647")),
            ("-1", Err("must be between 1 and 2147483647")),
            ("2147483648", Err("must be between 1 and 2147483647")),
            ("99999999999999999999", Err("must be between 1 and 2147483647")),
            ("1.0", Err("must be an integer")),
            ("1e3", Err("must be an integer")),
            ("one", Err("must be an integer")),
            ("-", Err("must be an integer")),
        ] {
            assert_eq!(id().text(given), expected.map_err(str::to_owned), "{given}");
        }
    }

    #[test]
    fn numbers_and_booleans_in_texts() {
        let cases = [("206", Ok(206)), (" 206 ", Ok(206)), ("-1", Err("must be between 1 and 2147483647"))];
        for (given, expected) in cases {
            assert_eq!(id().json(&json!(given)), expected.map_err(str::to_owned), "{given}");
        }
        for wrong in [
            json!("206.0"),
            json!("2 06"),
            json!("0x10"),
            json!(""),
            json!("two"),
            json!("1e2"),
            json!(true),
            json!([1]),
        ] {
            assert_eq!(id().json(&wrong), Err("must be an integer".to_owned()), "{wrong}");
        }
        assert_eq!((boolean().json(&json!("true")), boolean().json(&json!("false"))), (Ok(true), Ok(false)));
        for wrong in [json!("yes"), json!(1), json!(0), json!(""), json!("1"), json!("TRUE")] {
            assert!(boolean().json(&wrong).is_err(), "{wrong}");
        }
        for (text, expected) in [("True", Ok(true)), ("False", Ok(false)), ("1", Ok(true)), ("0", Ok(false))] {
            assert_eq!(boolean().text(text), expected, "{text}");
        }
        for wrong in ["TRUE", "yes", "t", "on", "2", ""] {
            assert!(boolean().text(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn genders_in_words() {
        for (given, known) in [
            ("Female", "Female"),
            ("female", "Female"),
            ("F", "Female"),
            ("f", "Female"),
            ("MALE", "Male"),
            ("m", "Male"),
            ("Other", "Other"),
            ("other", "Other"),
        ] {
            assert_eq!(gender().text(given), Ok(known), "{given}");
        }
        for wrong in ["", "x", "fem", "man", "femalE ish", "1"] {
            assert_eq!(gender().text(wrong), Err("must be one of Male, Female, Other".to_owned()), "{wrong}");
        }
    }

    #[test]
    fn names_with_invisible_or_control_characters_are_refused() {
        let refused = |text: &str| person_name(10).text(text).unwrap_err();
        for right in ["Anna", "Zoë-Mae O'Neill", "李", "Ana María"] {
            assert!(person_name(20).text(right).is_ok(), "{right}");
        }
        // A joiner inside a name is valid.
        assert!(person_name(10).text("نا\u{200c}زنین").is_ok());
        for empty in ["", " ", "\u{200b}", "\u{200b}\u{feff} \u{200d}", "\u{2060}", "\u{3164}"] {
            assert_eq!(refused(empty), "must not be empty", "{empty:?}");
        }
        for control in ["Anna\nLee", "Anna\tLee", "A\u{202e}nna", "A\u{2066}nna", "A\u{200f}nna", "A\u{2028}b"] {
            assert_eq!(
                refused(control),
                "must not contain line ends, control characters or marks of writing direction",
                "{control:?}"
            );
        }
        assert_eq!(refused("A\u{200b}nna"), "must not contain characters that cannot be seen");
        assert_eq!(refused("12345678901"), "must not be longer than 10 characters");
    }
}
