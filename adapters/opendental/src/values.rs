//! Values as the API writes them: numbers as numbers or texts, booleans as texts, amounts as numbers of any precision.

use adapter_sdk::records::Money;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// A key of the database; 0 where there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Num(pub u64);

impl Num {
    pub fn of(value: &Value) -> Option<Num> {
        match value {
            // -1 stands for none here and there.
            Value::Number(number) => number.as_i64().map(|key| Num(u64::try_from(key).unwrap_or(0))),
            Value::String(text) if text.trim().is_empty() => Some(Num(0)),
            Value::String(text) => text.trim().parse().ok().map(Num),
            Value::Null => Some(Num(0)),
            _ => None,
        }
    }

    /// The foreign id of a record; none where there is none.
    pub fn id(self) -> Option<String> {
        (self.0 > 0).then(|| self.0.to_string())
    }
}

impl std::fmt::Display for Num {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl<'de> Deserialize<'de> for Num {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Num, D::Error> {
        Num::of(&Value::deserialize(from)?).ok_or_else(|| serde::de::Error::custom("not a key"))
    }
}

/// `"true"` or `"false"`, in any case.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flag(pub bool);

impl<'de> Deserialize<'de> for Flag {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Flag, D::Error> {
        match Value::deserialize(from)? {
            Value::Bool(flag) => Ok(Flag(flag)),
            Value::Null => Ok(Flag(false)),
            Value::String(text) if text.eq_ignore_ascii_case("true") => Ok(Flag(true)),
            Value::String(text) if text.is_empty() || text.eq_ignore_ascii_case("false") => Ok(Flag(false)),
            _ => Err(serde::de::Error::custom("not a boolean")),
        }
    }
}

/// A text; empty where there is none, and what the API gives as a number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

/// An amount in hundredths: Open Dental computes with floating point, and shows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cents(pub i64);

impl Cents {
    pub fn parse(text: &str) -> Option<Cents> {
        let text = text.trim();
        let (sign, digits) = text.strip_prefix('-').map_or((1, text), |digits| (-1, digits));
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let plain = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
        if (whole.is_empty() && fraction.is_empty()) || whole.len() > 15 || !plain(whole) || !plain(fraction) {
            return None;
        }
        let whole: i64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        let thousandths: i64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
        Some(Cents(sign * (whole * 100 + (thousandths + 5) / 10)))
    }

    pub fn text(self) -> String {
        let sign = if self.0 < 0 { "-" } else { "" };
        format!("{sign}{}.{:02}", self.0.unsigned_abs() / 100, self.0.unsigned_abs() % 100)
    }

    pub fn money(self, currency: &str) -> Money {
        Money { amount: self.text(), currency: currency.to_owned() }
    }
}

impl<'de> Deserialize<'de> for Cents {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Cents, D::Error> {
        let cents = match Value::deserialize(from)? {
            Value::Number(number) => Cents::parse(&number.to_string()),
            Value::String(text) if text.trim().is_empty() => Some(Cents(0)),
            Value::String(text) => Cents::parse(&text),
            Value::Null => Some(Cents(0)),
            _ => None,
        };
        cents.ok_or_else(|| serde::de::Error::custom("not an amount"))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn values_of_every_writing() {
        assert_eq!([json!(7), json!("7"), json!("")].map(|v| from_value::<Num>(v).unwrap().0), [7, 7, 0]);
        assert_eq!(from_value::<Num>(json!(-1)).unwrap().id(), None);
        assert!(from_value::<Num>(json!(1.5)).is_err() && from_value::<Num>(json!("x")).is_err());
        let flags = [json!("true"), json!("False"), json!(true), json!("")];
        assert_eq!(flags.map(|v| from_value::<Flag>(v).unwrap().0), [true, false, true, false]);
        assert!(from_value::<Flag>(json!("yes")).is_err());
        assert_eq!(from_value::<Text>(json!(90011)).unwrap().some().as_deref(), Some("90011"));
        let amounts =
            [json!(-24.99), json!("129.99"), json!(20), json!(276.280_000_000_000_03), json!(0.005), json!("")];
        let cents = amounts.map(|v| from_value::<Cents>(v).unwrap().text());
        assert_eq!(cents, ["-24.99", "129.99", "20.00", "276.28", "0.01", "0.00"]);
        for bad in ["", "-", ".", "1e5", "1,5", "0x1", "9999999999999999"] {
            assert_eq!(Cents::parse(bad), None, "{bad}");
        }
        assert_eq!((Cents(-5).text().as_str(), Cents::parse("-.5")), ("-0.05", Some(Cents(-50))));
    }
}
