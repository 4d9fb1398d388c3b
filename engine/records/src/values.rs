//! Values used by several records, validated when deserialized: a document or message with an invalid value is
//! rejected.

use std::{fmt, ops::Deref};

use location::{Date, SECOND, Timestamp};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use serde_json::value::RawValue;

/// Names and values that an EHR has in addition to a record's fields.
pub type Extra = Vec<(String, String)>;

/// Returns the field that the contract carries in `extra`.
pub fn field_of(extra: &[(String, String)], name: &str) -> Option<String> {
    extra.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone())
}

/// Returns `extra` and the fields that the contract carries in it. Fields without a value are absent. A field replaces
/// values of its name: records that were stored before its declaration have it in `extra`.
pub fn with_fields(extra: &[(String, String)], fields: &[(&str, Option<&str>)]) -> Extra {
    let given: Vec<(&str, &str)> = fields.iter().filter_map(|&(name, value)| Some((name, value?))).collect();
    let others = extra.iter().filter(|(name, _)| given.iter().all(|(field, _)| *field != name.as_str()));
    others.cloned().chain(given.iter().map(|&(name, value)| (name.to_owned(), value.to_owned()))).collect()
}

/// Returns `extra` without the fields that the contract carries in it.
pub fn without_fields(extra: &[(String, String)], fields: &[&str]) -> Extra {
    extra.iter().filter(|(name, _)| !fields.contains(&name.as_str())).cloned().collect()
}

/// 0001-01-01T00:00:00Z to 9999-12-31T23:59:59Z.
const INSTANTS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;

/// A calendar date, `YYYY-MM-DD`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Day(pub Date);

impl Deref for Day {
    type Target = Date;

    fn deref(&self) -> &Date {
        &self.0
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl Serialize for Day {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Day {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Day, D::Error> {
        let text = String::deserialize(deserializer)?;
        text.parse().map(Day).map_err(|_| D::Error::custom("must be a date, YYYY-MM-DD"))
    }
}

/// An instant in the form of the contract: seconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Seconds(i64);

impl Seconds {
    /// Returns `None` outside the years 1 to 9999.
    pub fn new(seconds: i64) -> Option<Seconds> {
        INSTANTS.contains(&seconds).then_some(Seconds(seconds))
    }

    /// Returns the seconds since 1970.
    pub fn seconds(self) -> i64 {
        self.0
    }

    /// Converts to milliseconds, the unit of the engine.
    pub fn at(self) -> Timestamp {
        Timestamp(self.0 * SECOND)
    }
}

/// Rounds down to a second. Instants outside the years 1 to 9999 become the first or last of them.
impl From<Timestamp> for Seconds {
    fn from(instant: Timestamp) -> Seconds {
        Seconds(instant.0.div_euclid(SECOND).clamp(*INSTANTS.start(), *INSTANTS.end()))
    }
}

impl<'de> Deserialize<'de> for Seconds {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Seconds, D::Error> {
        Seconds::new(i64::deserialize(deserializer)?).ok_or_else(|| D::Error::custom("must be in the years 1 to 9999"))
    }
}

/// A JSON text, stored as written.
#[derive(Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct Json(String);

impl Json {
    pub fn encode(value: &impl Serialize) -> serde_json::Result<Json> {
        serde_json::to_string(value).map(Json)
    }

    /// Checks a JSON text and stores it as written. Returns `None` if it is invalid. The text is parsed to a value,
    /// because a scan without values would accept numbers out of range.
    pub fn parse(text: String) -> Option<Json> {
        serde_json::from_str::<serde_json::Value>(&text).is_ok().then_some(Json(text))
    }

    /// Returns the text as written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the text as written.
    pub fn into_string(self) -> String {
        self.0
    }

    /// Returns the text for inclusion in another JSON text.
    pub fn raw(&self) -> &RawValue {
        serde_json::from_str(&self.0).expect("the text was validated on construction")
    }

    /// Parses the text. Numbers lose their original spelling.
    pub fn value(&self) -> serde_json::Value {
        serde_json::from_str(&self.0).expect("the text was validated on construction")
    }
}

impl<'de> Deserialize<'de> for Json {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Json, D::Error> {
        Json::parse(String::deserialize(deserializer)?).ok_or_else(|| D::Error::custom("must be a JSON text"))
    }
}

/// A postal address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Address {
    /// First street line.
    pub line1: Option<String>,
    /// Second street line.
    pub line2: Option<String>,
    pub city: Option<String>,
    /// State or region.
    pub region: Option<String>,
    /// Postal code. Not validated, because formats differ by country.
    pub postal_code: Option<String>,
    /// Two-letter country code.
    pub country: Option<String>,
}

/// A value that clients change.
pub trait Change {
    /// The form of the value in a change.
    type Given;

    /// Applies a change. An empty text clears an optional one.
    fn change(&mut self, given: &Self::Given);
}

impl Change for String {
    type Given = String;

    fn change(&mut self, given: &String) {
        given.clone_into(self);
    }
}

impl Change for Option<String> {
    type Given = String;

    fn change(&mut self, given: &String) {
        *self = Some(given.clone()).filter(|text| !text.is_empty());
    }
}

/// Changes the parts that are given.
impl Change for Option<Address> {
    type Given = Address;

    fn change(&mut self, given: &Address) {
        let address = self.get_or_insert_default();
        for (part, given) in [
            (&mut address.line1, &given.line1),
            (&mut address.line2, &given.line2),
            (&mut address.city, &given.city),
            (&mut address.region, &given.region),
            (&mut address.postal_code, &given.postal_code),
            (&mut address.country, &given.country),
        ] {
            given.iter().for_each(|given| part.change(given));
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::{from_value, json, to_value};

    use super::*;

    #[test]
    fn values_are_validated_when_deserialized() {
        assert_eq!(to_value(from_value::<Day>(json!("2024-02-29")).unwrap()).unwrap(), json!("2024-02-29"));
        assert_eq!(to_value(from_value::<Day>(json!("0001-01-01")).unwrap()).unwrap(), json!("0001-01-01"));
        for bad in ["2023-02-29", "2023-2-01", "20230201", ""] {
            assert!(from_value::<Day>(json!(bad)).is_err(), "{bad}");
        }
        assert_eq!(from_value::<Seconds>(json!(-1)).unwrap().at(), Timestamp(-1_000));
        assert!(from_value::<Seconds>(json!(i64::MAX)).is_err() && from_value::<Seconds>(json!("1")).is_err());
        assert_eq!(Seconds::from(Timestamp(-1)).at(), Timestamp(-1_000));
        assert_eq!(Seconds::from(Timestamp::MAX).at(), Timestamp(253_402_300_799_000));
    }

    #[test]
    fn json_texts_are_stored_as_written() {
        let text = from_value::<Json>(json!("{\"a\" : 1.50}")).unwrap();
        assert_eq!((text.raw().get(), text.value()), ("{\"a\" : 1.50}", json!({"a": 1.5})));
        let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
        for bad in ["", "{", "nonsense", "1 2", "1e999", deep.as_str()] {
            assert!(from_value::<Json>(json!(bad)).is_err(), "{bad}");
        }
    }
}
