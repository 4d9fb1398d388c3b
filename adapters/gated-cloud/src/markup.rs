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

/// A kind of record: what calls name it, and where its fields are.
#[derive(Clone, Copy)]
pub struct Kind {
    pub name: &'static str,
    pub names: Names,
}

/// Own names are those of the contract, where it has the field.
pub const PATIENTS: Kind = Kind {
    name: "patients",
    names: &[
        ("id", "id", "key"),
        ("first_name", "firstName", "name/given"),
        ("middle_name", "middleName", "name/middle"),
        ("last_name", "lastName", "name/family"),
        ("date_of_birth", "dob", "birthDate"),
        ("gender", "sex", "gender"),
        ("email", "email", "contact/email"),
        ("cell_phone", "mobile", "contact/mobile"),
        ("home_phone", "homePhone", "contact/home"),
        ("work_phone", "workPhone", "contact/work"),
        ("address/line1", "street", "home/line"),
        ("address/city", "city", "home/city"),
        ("address/region", "state", "home/region"),
        ("address/postal_code", "zip", "home/zip"),
        ("address/country", "country", "home/country"),
        ("preferred_language", "language", "speaks"),
        ("provider", "providerId", "provider/key"),
        ("chart_id", "chartNo", "chart"),
        ("inactive", "inactive", "archived"),
        ("write_key", "reference", "externalRef"),
        ("version", "revision", "rev"),
    ],
};

pub const PROVIDERS: Kind = Kind {
    name: "providers",
    names: &[
        ("id", "id", "key"),
        ("first_name", "firstName", "name/given"),
        ("last_name", "lastName", "name/family"),
        ("email", "email", "contact/email"),
        ("npi", "npi", "npi"),
        ("inactive", "inactive", "archived"),
    ],
};

pub const OPERATORIES: Kind = Kind {
    name: "operatories",
    names: &[("id", "id", "key"), ("name", "name", "label"), ("closed", "closed", "archived")],
};

pub const TYPES: Kind =
    Kind { name: "types", names: &[("id", "id", "key"), ("name", "name", "label"), ("minutes", "minutes", "length")] };

pub const HOURS: Kind = Kind {
    name: "hours",
    names: &[
        ("id", "id", "key"),
        ("provider", "providerId", "provider/key"),
        ("operatory", "chairId", "chair/key"),
        ("days", "days", "when/days"),
        ("begin_time", "begin", "when/from"),
        ("end_time", "end", "when/to"),
    ],
};

pub const APPOINTMENTS: Kind = Kind {
    name: "appointments",
    names: &[
        ("id", "id", "key"),
        ("patient", "patientId", "patient/key"),
        ("provider", "providerId", "provider/key"),
        ("operatory", "chairId", "chair/key"),
        ("appointment_type", "typeId", "kind/key"),
        ("start", "start", "period/from"),
        ("end", "end", "period/to"),
        ("note", "note", "comment"),
        ("status", "status", "state"),
        ("patient_confirmed", "patientConfirmed", "confirmedByPatient"),
        ("checkin_at", "arrivedAt", "arrival"),
        ("checked_out_at", "leftAt", "departure"),
        ("cancel_reason", "cancelReason", "reason"),
        ("unavailable", "block", "block"),
        ("write_key", "reference", "externalRef"),
        ("version", "revision", "rev"),
    ],
};

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
            own.insert(
                (*name).to_owned(),
                held.ok_or(Lacking { markup: self, name, path: self.path(v3, v4) })?.clone(),
            );
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
    /// Where the release should have it.
    pub path: &'static str,
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
