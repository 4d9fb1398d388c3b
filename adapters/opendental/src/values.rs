//! Values in the API's formats: numbers as numbers or texts, booleans as texts. Amounts may have any precision, because
//! the API computes with floating point.

use adapter_sdk::{
    Receipt,
    notes::{Note, Style},
    records::{CommunicationDirection, CommunicationMode, Gender, Relation},
    vocabulary::Vocabulary,
};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Number, Value};

/// The format of write keys, which are at the end of a note. The EHR returns its line breaks as spaces. The API has no
/// field for keys, and without them a write with a lost response cannot be distinguished from an entry by staff. Pulled
/// notes do not contain the keys.
pub const NOTES: Style = Style { gap: " ", begin: "[ref:", between: " ", equals: ":" };
/// Parses a note, ignoring surrounding white space.
pub fn note(text: &str) -> Note {
    NOTES.read(text.trim())
}

/// Returns the mail addresses of a patient; the field is a list separated by commas or semicolons.
pub fn mails(field: &str) -> impl Iterator<Item = &str> {
    field.split([',', ';']).map(str::trim).filter(|mail| !mail.is_empty())
}

/// Replaces or removes the mail address that a client saw; the others stay. The address may already be gone.
pub fn with_mail(field: &str, seen: Option<&str>, wanted: &str) -> String {
    let mut all: Vec<&str> = mails(field).collect();
    let wanted = wanted.trim();
    match (all.iter().position(|mail| Some(*mail) == seen), wanted.is_empty()) {
        (Some(at), true) => drop(all.remove(at)),
        (Some(at), false) => all[at] = wanted,
        (None, false) if all.is_empty() => all.push(wanted),
        (None, false) if !all.contains(&wanted) => all[0] = wanted,
        (None, _) => (),
    }
    all.join(",")
}

/// The name of a payment's transaction id in notes.
pub const TRANSACTION: &str = "tx";

pub const RELATIONSHIPS: Vocabulary<Relation> = Vocabulary(&[
    ("Self", Relation::Oneself),
    ("Spouse", Relation::Spouse),
    ("Child", Relation::Child),
    ("Employee", Relation::Employee),
    ("HandicapDep", Relation::HandicapDep),
    ("SignifOther", Relation::SignifOther),
    // As spelled in the documentation.
    ("InjuredPlantiff", Relation::InjuredPlaintiff),
    ("InjuredPlaintiff", Relation::InjuredPlaintiff),
    ("LifePartner", Relation::LifePartner),
    ("Dependent", Relation::Dependent),
]);

/// The API returns `Other`, and accepts `Unknown` for it.
pub const GENDERS: Vocabulary<Gender> = Vocabulary(&[("Male", Gender::Male), ("Female", Gender::Female)]);

pub const DIRECTIONS: Vocabulary<CommunicationDirection> =
    Vocabulary(&[("Sent", CommunicationDirection::Sent), ("Received", CommunicationDirection::Received)]);

pub const MODES: Vocabulary<CommunicationMode> = Vocabulary(&[
    ("None", CommunicationMode::None),
    ("Email", CommunicationMode::Email),
    ("Email and Text", CommunicationMode::Email),
    ("EmailAndText", CommunicationMode::Email),
    ("Mail", CommunicationMode::Mail),
    ("Phone", CommunicationMode::Phone),
    ("Phone and Text", CommunicationMode::Phone),
    ("PhoneAndText", CommunicationMode::Phone),
    ("In Person", CommunicationMode::InPerson),
    ("InPerson", CommunicationMode::InPerson),
    ("Text", CommunicationMode::Text),
]);

/// A database key; 0 if absent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub struct Num(pub u64);

impl Num {
    pub fn from_json(value: &Value) -> Option<Num> {
        match value {
            // Some fields use -1 for absent.
            Value::Number(number) => whole(number).map(|key| Num(u64::try_from(key).unwrap_or(0))),
            Value::String(text) if text.trim().is_empty() => Some(Num(0)),
            Value::String(text) => text.trim().parse().ok().map(Num),
            Value::Null => Some(Num(0)),
            _ => None,
        }
    }

    /// Returns the foreign id; `None` if absent.
    pub fn id(self) -> Option<String> {
        (self.0 > 0).then(|| self.0.to_string())
    }

    pub fn receipt(self) -> Receipt {
        Receipt::new(self.id().unwrap_or_default())
    }
}

/// Parses `5` or `5.0`.
fn whole(number: &Number) -> Option<i64> {
    let text = number.to_string();
    text.strip_suffix(".0").unwrap_or(&text).parse().ok()
}

impl std::fmt::Display for Num {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de> Deserialize<'de> for Num {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Num, D::Error> {
        Num::from_json(&Value::deserialize(from)?).ok_or_else(|| serde::de::Error::custom("not a key"))
    }
}

/// `"true"` or `"false"`, in any case; or 1 or 0 as in the database.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Flag(pub bool);

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Flag, D::Error> {
        let word = match Value::deserialize(from)? {
            Value::Bool(flag) => return Ok(Flag(flag)),
            Value::Null => String::new(),
            Value::String(text) => text.trim().to_ascii_lowercase(),
            other => other.to_string(),
        };
        match word.as_str() {
            "true" | "1" => Ok(Flag(true)),
            "" | "false" | "0" => Ok(Flag(false)),
            _ => Err(serde::de::Error::custom("not a boolean")),
        }
    }
}

/// A text; empty if absent. Numbers are converted to text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Text(pub String);

impl Text {
    pub fn as_str(&self) -> &str {
        &self.0
    }

    pub fn some(&self) -> Option<String> {
        let text = self.0.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }
}

impl std::ops::Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Text, D::Error> {
        match Value::deserialize(from)? {
            Value::String(text) => Ok(Text(text)),
            Value::Null => Ok(Text::default()),
            Value::Number(number) => Ok(Text(number.to_string())),
            _ => Err(serde::de::Error::custom("not a text")),
        }
    }
}
