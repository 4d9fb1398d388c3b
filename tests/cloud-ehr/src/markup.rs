//! Field names in calls and pages. Vendors change them between releases without notice: `v3` became `v4`, and `v5` is
//! an unknown future release.

use serde_json::{Map, Value, json};

/// A release of the application's pages and calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Markup {
    #[default]
    V3,
    V4,
    V5,
}

/// Field names in this crate, in v3 and in v4: `home/zip` is `zip` in the object `home`.
type Names = &'static [(&'static str, &'static str, &'static str)];

pub const PATIENT: Names = &[
    ("id", "id", "key"),
    ("firstName", "firstName", "name/given"),
    ("middleName", "middleName", "name/middle"),
    ("lastName", "lastName", "name/family"),
    ("born", "dob", "birthDate"),
    ("sex", "sex", "gender"),
    ("email", "email", "contact/email"),
    ("mobile", "mobile", "contact/mobile"),
    ("homePhone", "homePhone", "contact/home"),
    ("workPhone", "workPhone", "contact/work"),
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
    ("firstName", "firstName", "name/given"),
    ("lastName", "lastName", "name/family"),
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
    ("confirmedByPatient", "patientConfirmed", "confirmedByPatient"),
    ("arrivedAt", "arrivedAt", "arrival"),
    ("leftAt", "leftAt", "departure"),
    ("cancelReason", "cancelReason", "reason"),
    ("block", "block", "block"),
    ("reference", "reference", "externalRef"),
    ("revision", "revision", "rev"),
];

/// Fields around the records.
const FRAME: Names = &[
    ("items", "items", "data/rows"),
    ("removed", "removed", "data/gone"),
    ("item", "item", "data/row"),
    ("mark", "mark", "page/mark"),
    ("more", "more", "page/more"),
    ("total", "total", "page/total"),
    ("user", "user", "session/user"),
    ("csrf", "csrf", "session/token"),
    ("error", "error", "problem/code"),
    ("message", "message", "problem/text"),
];

impl Markup {
    pub fn word(self) -> &'static str {
        match self {
            Markup::V3 => "v3",
            Markup::V4 => "v4",
            Markup::V5 => "v5",
        }
    }

    /// Returns the name of an element or class in the pages.
    pub fn element(self, name: &str) -> String {
        match self {
            Markup::V3 => name.to_owned(),
            Markup::V4 => format!("day-{name}"),
            Markup::V5 => format!("x5_{name}"),
        }
    }

    /// Renames an object's fields from this crate's names to the release's.
    pub fn render(self, names: Names, object: &Value) -> Value {
        let mut shown = json!({});
        for (own, v3, v4) in names {
            if let Some(value) = object.get(own) {
                put(&mut shown, &self.path(own, v3, v4), value.clone());
            }
        }
        shown
    }

    /// Renames sent fields from the release's names to this crate's and drops unknown ones.
    pub fn read(self, names: Names, sent: &Value) -> Map<String, Value> {
        let held = names.iter().filter_map(|(own, v3, v4)| {
            let value = self.path(own, v3, v4).split('/').try_fold(sent, |at, name| at.get(name))?;
            Some(((*own).to_owned(), value.clone()))
        });
        held.collect()
    }

    /// Returns a complete answer.
    pub fn framed(self, object: &Value) -> Value {
        let mut framed = self.render(FRAME, object);
        framed["markup"] = self.word().into();
        framed
    }

    fn path(self, own: &str, v3: &str, v4: &str) -> String {
        match self {
            Markup::V3 => v3.to_owned(),
            Markup::V4 => v4.to_owned(),
            Markup::V5 => format!("x5/{own}"),
        }
    }
}

fn put(into: &mut Value, path: &str, value: Value) {
    let mut at = into;
    for name in path.split('/') {
        if at.is_null() {
            *at = json!({});
        }
        at = &mut at[name];
    }
    *at = value;
}
