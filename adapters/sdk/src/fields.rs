//! Field names: tables that map the names of the contract, or of an adapter, to the names of an EHR.
//!
//! ```
//! use adapter_sdk::fields::Names;
//! use serde_json::json;
//!
//! const PATIENT: Names = Names("id=key first_name=name/given address/city=town email");
//!
//! let theirs = json!({"key": "P-1", "name": {"given": "Ada"}, "town": null, "email": "a@b.example", "more": 1});
//! let ours = json!({"id": "P-1", "first_name": "Ada", "address": {"city": null}, "email": "a@b.example"});
//! assert_eq!(PATIENT.all_ours(&theirs), Ok(ours));
//! assert_eq!(PATIENT.ours(&theirs), json!({"id": "P-1", "first_name": "Ada", "email": "a@b.example"}));
//! let changed = json!({"first_name": "Eve", "address": {"city": null}});
//! assert_eq!(PATIENT.theirs(&changed), json!({"name": {"given": "Eve"}, "town": null}));
//! assert!(PATIENT.all_ours(&json!({"key": "P-1"})).is_err_and(|lacking| lacking.theirs == "name/given"));
//!
//! const ROOM: Names = Names("id floor=place/floor?");
//!
//! for place in [json!(null), json!(""), json!({"floor": null}), json!({"floor": " "})] {
//!     assert_eq!(ROOM.all_ours(&json!({"id": "R-1", "place": place})), Ok(json!({"id": "R-1"})));
//! }
//! assert!(ROOM.all_ours(&json!({"id": "R-1", "place": "first"})).is_err());
//! ```

use serde_json::{Map, Value};

/// A list of our names, each followed by `=` and the EHR's name if it differs. `/` separates the levels of an object. A
/// trailing `?` marks an optional field; null and a blank text count as absent.
#[derive(Clone, Copy, Debug)]
pub struct Names(pub &'static str);

/// A required field that is absent from the EHR's object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MissingField {
    /// Our name of the field.
    pub ours: &'static str,
    /// The expected path in the EHR's object.
    pub theirs: &'static str,
}

impl Names {
    /// Returns pairs of our name and the EHR's path.
    pub fn pairs(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.fields().map(|(ours, theirs, _)| (ours, theirs))
    }

    /// Returns our name, the EHR's path, and whether the field is optional.
    fn fields(self) -> impl Iterator<Item = (&'static str, &'static str, bool)> {
        self.0.split_whitespace().map(|field| {
            let name = field.trim_end_matches('?');
            let (ours, theirs) = name.split_once('=').unwrap_or((name, name));
            (ours, theirs, name != field)
        })
    }

    /// Converts an EHR's object to our names, without absent and null fields.
    pub fn ours(self, theirs: &Value) -> Value {
        let known = self.pairs().filter_map(|(ours, name)| Some((ours, at(theirs, name)?)));
        object(known.filter(|(_, value)| !value.is_null()))
    }

    /// Converts an EHR's object to our names. Every field that is not optional must be present, but may be null.
    pub fn all_ours(self, theirs: &Value) -> Result<Value, MissingField> {
        let has_content =
            |value: &&Value| !value.is_null() && value.as_str().is_none_or(|text| !text.trim().is_empty());
        let held = |(ours, name, optional): (_, &'static str, bool)| match at(theirs, name) {
            Some(value) if !optional || has_content(&value) => Some(Ok((ours, value))),
            _ if optional && leads(theirs, name) => None,
            _ => Some(Err(MissingField { ours, theirs: name })),
        };
        Ok(object(self.fields().filter_map(held).collect::<Result<Vec<_>, _>>()?))
    }

    /// Converts the fields that are present to the EHR's names.
    pub fn theirs(self, ours: &Value) -> Value {
        object(self.pairs().filter_map(|(name, theirs)| Some((theirs, at(ours, name)?))))
    }

    /// Returns the complete form of a record: all fields of our names, null if absent.
    pub fn form(self, record: &Value) -> Map<String, Value> {
        match object(self.pairs().map(|(ours, _)| (ours, at(record, ours).unwrap_or(&Value::Null)))) {
            Value::Object(form) => form,
            _ => Map::new(),
        }
    }
}

/// Returns `true` if `held` contains all `wanted` values, including those of nested objects. A change of these fields
/// is then already written.
///
/// ```
/// use adapter_sdk::fields::holds;
/// use serde_json::json;
///
/// let held = json!({"name": "Ada", "address": {"city": "Peoria", "zip": null}});
/// assert!(holds(&held, &json!({"address": {"city": "Peoria"}})));
/// assert!(!holds(&held, &json!({"name": "Eve"})));
/// ```
pub fn holds(held: &Value, wanted: &Value) -> bool {
    match (held, wanted) {
        (Value::Object(_), Value::Object(wanted)) => wanted.iter().all(|(name, value)| holds(&held[name], value)),
        _ => held == wanted,
    }
}

fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    path.split('/').try_fold(object, |at, part| at.get(part))
}

/// Returns `true` if every value on the path is an object or absent.
fn leads(object: &Value, path: &str) -> bool {
    let open = object.is_object() || object.is_null() || object.as_str().is_some_and(|text| text.trim().is_empty());
    open && path.split_once('/').is_none_or(|(first, rest)| leads(&object[first], rest))
}

fn object<'a>(fields: impl IntoIterator<Item = (&'static str, &'a Value)>) -> Value {
    let mut object = Value::Object(Map::new());
    for (path, value) in fields {
        let place = path.split('/').fold(&mut object, |at, part| {
            if at.is_null() {
                *at = Value::Object(Map::new());
            }
            &mut at[part]
        });
        *place = value.clone();
    }
    object
}
