//! Fields under other names: tables of what an EHR calls what the contract, or an adapter itself, calls otherwise.
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
//! assert_eq!(PATIENT.theirs(&json!({"first_name": "Eve", "address": {"city": null}})), json!({"name": {"given": "Eve"}, "town": null}));
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

/// Our names, each with the EHR's behind a `=` where that is another. `/` leads into an object; `?` stands behind what
/// the EHR may leave out: null and a blank text are left out, too.
#[derive(Clone, Copy, Debug)]
pub struct Names(pub &'static str);

/// A field the EHR should have, and has not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lacking {
    /// Our name of it.
    pub ours: &'static str,
    /// Where the EHR should have it.
    pub theirs: &'static str,
}

impl Names {
    /// Ours and the EHR's.
    pub fn pairs(self) -> impl Iterator<Item = (&'static str, &'static str)> {
        self.fields().map(|(ours, theirs, _)| (ours, theirs))
    }

    /// Ours, the EHR's, and whether it may be left out.
    fn fields(self) -> impl Iterator<Item = (&'static str, &'static str, bool)> {
        self.0.split_whitespace().map(|field| {
            let name = field.trim_end_matches('?');
            let (ours, theirs) = name.split_once('=').unwrap_or((name, name));
            (ours, theirs, name != field)
        })
    }

    /// What is known of an EHR's object, under our names.
    pub fn ours(self, theirs: &Value) -> Value {
        let known = self.pairs().filter_map(|(ours, name)| Some((ours, at(theirs, name)?)));
        object(known.filter(|(_, value)| !value.is_null()))
    }

    /// An EHR's object under our names, all of which it must have, if only as null, but for those it may leave out.
    pub fn all_ours(self, theirs: &Value) -> Result<Value, Lacking> {
        let said = |value: &&Value| !value.is_null() && value.as_str().is_none_or(|text| !text.trim().is_empty());
        let held = |(ours, name, optional): (_, &'static str, bool)| match at(theirs, name) {
            Some(value) if !optional || said(&value) => Some(Ok((ours, value))),
            _ if optional && leads(theirs, name) => None,
            _ => Some(Err(Lacking { ours, theirs: name })),
        };
        Ok(object(self.fields().filter_map(held).collect::<Result<Vec<_>, _>>()?))
    }

    /// Those of our fields that are there, as the EHR has them.
    pub fn theirs(self, ours: &Value) -> Value {
        object(self.pairs().filter_map(|(name, theirs)| Some((theirs, at(ours, name)?))))
    }

    /// Of a record as JSON the fields of our names, null where it has none: a whole form.
    pub fn form(self, record: &Value) -> Map<String, Value> {
        match object(self.pairs().map(|(ours, _)| (ours, at(record, ours).unwrap_or(&Value::Null)))) {
            Value::Object(form) => form,
            _ => Map::new(),
        }
    }
}

/// Whether all that is wanted is held so, in objects within it too: a change of these fields is written.
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

/// Whether nothing but objects, or nothing at all, stands on the way.
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
