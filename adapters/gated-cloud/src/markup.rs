//! The releases of the web application this adapter knows, and where each of them keeps what. The application changes without a word: a
//! release that is not here is not read, and one that lacks a name it should have is not either. Nothing is guessed.

use serde_json::{Map, Value, json};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Markup {
    V3,
    V4,
}

/// Own name, where v3 has it, where v4 has it: `name/given` is `given` in the object `name`.
pub type Names = &'static [(&'static str, &'static str, &'static str)];

pub const PATIENT: Names = &[
    ("id", "id", "key"),
    ("first_name", "firstName", "name/given"),
    ("middle_name", "middleName", "name/middle"),
    ("last_name", "lastName", "name/family"),
    ("born", "dob", "birthDate"),
    ("sex", "sex", "gender"),
    ("email", "email", "contact/email"),
    ("mobile", "mobile", "contact/mobile"),
    ("home_phone", "homePhone", "contact/home"),
    ("work_phone", "workPhone", "contact/work"),
    ("street", "street", "home/line"),
    ("city", "city", "home/city"),
    ("state", "state", "home/region"),
    ("zip", "zip", "home/zip"),
    ("country", "country", "home/country"),
    ("language", "language", "speaks"),
    ("provider", "providerId", "provider/key"),
    ("chart", "chartNo", "chart"),
    ("inactive", "inactive", "archived"),
    ("reference", "reference", "externalRef"),
    ("revision", "revision", "rev"),
];

pub const PROVIDER: Names = &[
    ("id", "id", "key"),
    ("first_name", "firstName", "name/given"),
    ("last_name", "lastName", "name/family"),
    ("email", "email", "contact/email"),
    ("npi", "npi", "npi"),
    ("inactive", "inactive", "archived"),
];

pub const OPERATORY: Names = &[("id", "id", "key"), ("name", "name", "label"), ("closed", "closed", "archived")];

pub const TYPE: Names = &[("id", "id", "key"), ("name", "name", "label"), ("minutes", "minutes", "length")];

pub const HOURS: Names = &[
    ("id", "id", "key"),
    ("provider", "providerId", "provider/key"),
    ("operatory", "chairId", "chair/key"),
    ("days", "days", "when/days"),
    ("begin", "begin", "when/from"),
    ("end", "end", "when/to"),
];

pub const APPOINTMENT: Names = &[
    ("id", "id", "key"),
    ("patient", "patientId", "patient/key"),
    ("provider", "providerId", "provider/key"),
    ("operatory", "chairId", "chair/key"),
    ("kind", "typeId", "kind/key"),
    ("start", "start", "period/from"),
    ("end", "end", "period/to"),
    ("note", "note", "comment"),
    ("status", "status", "state"),
    ("confirmed_by_patient", "patientConfirmed", "confirmedByPatient"),
    ("arrived_at", "arrivedAt", "arrival"),
    ("left_at", "leftAt", "departure"),
    ("cancel_reason", "cancelReason", "reason"),
    ("block", "block", "block"),
    ("reference", "reference", "externalRef"),
    ("revision", "revision", "rev"),
];

pub const SESSION: Names = &[("csrf", "csrf", "session/token")];
pub const ITEM: Names = &[("item", "item", "data/row")];
pub const ITEMS: Names = &[("items", "items", "data/rows")];
pub const CHANGES: Names = &[
    ("items", "items", "data/rows"),
    ("removed", "removed", "data/gone"),
    ("mark", "mark", "page/mark"),
    ("more", "more", "page/more"),
    ("total", "total", "page/total"),
];
pub const REFUSAL: Names = &[("code", "error", "problem/code")];

impl Markup {
    pub const KNOWN: &'static str = "v3 and v4";

    pub fn of(word: &str) -> Option<Markup> {
        match word {
            "v3" => Some(Markup::V3),
            "v4" => Some(Markup::V4),
            _ => None,
        }
    }

    pub fn word(self) -> &'static str {
        match self {
            Markup::V3 => "v3",
            Markup::V4 => "v4",
        }
    }

    /// An object of the application's under own names, all of which it must have.
    pub fn own(self, names: Names, shown: &Value) -> Result<Value, Lacking> {
        let mut own = Map::new();
        for (name, v3, v4) in names {
            let held = self.path(v3, v4).split('/').try_fold(shown, |at, part| at.get(part));
            own.insert((*name).to_owned(), held.ok_or(Lacking { markup: self, name })?.clone());
        }
        Ok(Value::Object(own))
    }

    /// Fields under own names as this release wants them.
    pub fn sent(self, names: Names, own: &Map<String, Value>) -> Value {
        let mut sent = json!({});
        for (name, v3, v4) in names {
            if let Some(value) = own.get(*name) {
                put(&mut sent, self.path(v3, v4), value.clone());
            }
        }
        sent
    }

    fn path(self, v3: &'static str, v4: &'static str) -> &'static str {
        match self {
            Markup::V3 => v3,
            Markup::V4 => v4,
        }
    }
}

/// A release that is said to be one we know, and is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lacking {
    pub markup: Markup,
    pub name: &'static str,
}

fn put(into: &mut Value, path: &str, value: Value) {
    let mut at = into;
    for part in path.split('/') {
        if at.is_null() {
            *at = json!({});
        }
        at = &mut at[part];
    }
    *at = value;
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn names_go_there_and_back() {
        let own = json!({"id": "O-1", "name": "Chair 1", "closed": false});
        let fields = own.as_object().unwrap();
        assert_eq!(Markup::V3.sent(OPERATORY, fields), own);
        assert_eq!(Markup::V4.sent(OPERATORY, fields), json!({"key": "O-1", "label": "Chair 1", "archived": false}));
        for markup in [Markup::V3, Markup::V4] {
            assert_eq!(markup.own(OPERATORY, &markup.sent(OPERATORY, fields)), Ok(own.clone()), "{markup:?}");
        }
        let nested = json!({"first_name": "Ada", "zip": null}).as_object().unwrap().clone();
        assert_eq!(Markup::V4.sent(PATIENT, &nested), json!({"name": {"given": "Ada"}, "home": {"zip": null}}));
    }

    #[test]
    fn a_release_that_lacks_a_name_is_told_by_it() {
        let shown = json!({"key": "O-1", "label": "Chair 1"});
        assert_eq!(Markup::V4.own(OPERATORY, &shown), Err(Lacking { markup: Markup::V4, name: "closed" }));
        assert_eq!(Markup::of("v5"), None);
    }
}
