//! Money in hundredths, exact comparison of amounts, and the charges of a payment.
//!
//! ```
//! use adapter_sdk::money::{Cents, exact};
//!
//! let paid: Cents = serde_json::from_str("276.28000000000003").expect("an amount");
//! assert_eq!(paid.money("USD").amount, "276.28");
//! assert_eq!(Cents::parse("-.5"), Some(Cents(-50)));
//! assert_eq!(Cents::parse("1e5"), None);
//! assert!(exact("95") == exact("95.00") && exact("12.50") > exact("9"));
//! ```

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::records::{Money, Payment, Split};

/// An amount in hundredths. In JSON, a number or a text, possibly with floating-point errors; blank or null is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cents(pub i64);

impl Cents {
    /// Parses a plain decimal number and rounds it to hundredths.
    pub fn parse(text: &str) -> Option<Cents> {
        let (sign, whole, fraction) = parts(text.trim()).filter(|(_, whole, _)| whole.len() <= 15)?;
        let whole: i64 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
        let thousandths: i64 = format!("{fraction:0<3}").get(..3)?.parse().ok()?;
        Some(Cents(sign * (whole * 100 + (thousandths + 5) / 10)))
    }

    /// Returns the amount as the contract's type.
    pub fn money(self, currency: &str) -> Money {
        Money { amount: self.to_string(), currency: currency.to_owned() }
    }
}

/// Parses a plain decimal number into millionths without loss. Returns `None` if it has more digits.
pub fn exact(text: &str) -> Option<i128> {
    let (sign, whole, fraction) = parts(text).filter(|(_, whole, rest)| whole.len() <= 20 && rest.len() <= 6)?;
    format!("{whole}{fraction:0<6}").parse::<i128>().ok().map(|number| i128::from(sign) * number)
}

/// Splits a number into sign and the digits before and after the point, at least one digit in total.
fn parts(text: &str) -> Option<(i64, &str, &str)> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (-1, digits),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let plain = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    (whole.len() + fraction.len() > 0 && plain(whole) && plain(fraction)).then_some((sign, whole, fraction))
}

/// Formats with two decimals: `-0.05`.
impl fmt::Display for Cents {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        write!(f, "{sign}{}.{:02}", self.0.unsigned_abs() / 100, self.0.unsigned_abs() % 100)
    }
}

impl Serialize for Cents {
    fn serialize<S: Serializer>(&self, into: S) -> Result<S::Ok, S::Error> {
        into.collect_str(self)
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

/// A payment is shared among several charges, or covers a charge only in part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shared;

/// Returns the only charge of the whole payment, if it names one. For an EHR that cannot share payments.
pub fn whole_charge(payment: &Payment) -> Result<Option<&str>, Shared> {
    match payment.charge_splits.as_slice() {
        [] => Ok(payment.charge.as_deref()),
        [split] if is_whole(payment, split) && payment.charge.as_ref().is_none_or(|charge| *charge == split.id) => {
            Ok(Some(&split.id))
        }
        _ => Err(Shared),
    }
}

/// Returns `true` if the split is the whole payment.
pub fn is_whole(payment: &Payment, split: &Split) -> bool {
    split.amount.currency == payment.amount.currency && exact(&split.amount.amount) == exact(&payment.amount.amount)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn amounts_of_every_writing() {
        let amounts =
            [json!(-24.99), json!("129.99"), json!(20), json!(276.280_000_000_000_03), json!(0.005), json!("")];
        let cents = amounts.map(|v| from_value::<Cents>(v).unwrap().to_string());
        assert_eq!(cents, ["-24.99", "129.99", "20.00", "276.28", "0.01", "0.00"]);
        for bad in ["", "-", ".", "1e5", "1,5", "0x1", "9999999999999999"] {
            assert_eq!(Cents::parse(bad), None, "{bad}");
        }
        assert_eq!((Cents(-5).to_string().as_str(), Cents::parse("-.5")), ("-0.05", Some(Cents(-50))));
    }

    #[test]
    fn numbers_are_compared_exactly() {
        assert_eq!((exact("-0.5"), exact("+.25")), (Some(-500_000), Some(250_000)));
        for bad in ["", "-", "1e3", "NaN", "1.2.3", "0.1234567", "1,5", "--1", "+-1"] {
            assert_eq!(exact(bad), None, "{bad}");
        }
    }

    #[test]
    fn a_payment_goes_to_one_charge_or_is_shared() {
        let usd = |amount: &str| json!({"amount": amount, "currency": "USD"});
        let charge_of = |charge: Option<&str>, splits: &[(&str, &str)]| {
            let splits: Vec<Value> = splits.iter().map(|(id, part)| json!({"id": id, "amount": usd(part)})).collect();
            let payment = json!({"id": "", "charge": charge, "amount": usd("80.00"), "charge_splits": splits,
                "provider_splits": [], "extra": []});
            whole_charge(&from_value(payment).unwrap()).map(|charge| charge.map(str::to_owned))
        };
        assert_eq!(charge_of(None, &[]), Ok(None));
        assert_eq!(charge_of(Some("7"), &[]), Ok(Some("7".into())));
        assert_eq!(charge_of(Some("7"), &[("7", "80")]), Ok(Some("7".into())));
        let shared =
            [(None, &[("7", "50.00"), ("8", "30.00")][..]), (None, &[("7", "50.00")]), (Some("8"), &[("7", "80.00")])];
        for (charge, splits) in shared {
            assert_eq!(charge_of(charge, splits), Err(Shared), "{splits:?}");
        }
    }
}
