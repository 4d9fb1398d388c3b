//! Amounts of money: decimals with their currency, never binary floating point.

use std::{fmt, str::FromStr};

use rust_decimal::Decimal;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// Digits of an amount, before and after the point together.
const DIGITS: usize = 28;

/// An amount with its currency: `{"amount": "-12.50", "currency": "USD"}`. The scale is stored as given; `spelled`
/// returns the display form.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Money {
    /// The amount in whole units of the currency; a string in JSON.
    #[serde(serialize_with = "write_amount", deserialize_with = "read_amount")]
    pub amount: Decimal,
    pub currency: Currency,
}

/// A currency code of three capital letters, as in ISO 4217. Codes from an EHR need not be in the list.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Currency([u8; 3]);

/// The reason why a text is not an amount; the message follows the name of the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MoneyError {
    /// Not digits with an optional sign and point, or too many digits.
    #[error("must be a decimal number of at most 28 digits")]
    Amount,
    /// Not three capital letters. The list is not checked.
    #[error("must be a currency of three capital letters")]
    Currency,
}

impl Money {
    /// Parses an amount and any currency code of three capital letters.
    pub fn parse(amount: &str, currency: &str) -> Result<Money, MoneyError> {
        Ok(Money { amount: parse_amount(amount)?, currency: currency.parse()? })
    }

    /// Adds amounts. Returns `None` for no amounts, for different currencies, and on overflow.
    pub fn sum<'a>(parts: impl IntoIterator<Item = &'a Money>) -> Option<Money> {
        let mut parts = parts.into_iter();
        let first = *parts.next()?;
        parts.try_fold(first, |sum, part| {
            let amount = sum.amount.checked_add(part.amount).filter(|_| part.currency == sum.currency)?;
            Some(Money { amount, ..sum })
        })
    }

    /// Returns `true` for zero at any scale.
    pub fn is_zero(&self) -> bool {
        self.amount.is_zero()
    }

    /// Returns the amount without its sign.
    pub fn abs(self) -> Money {
        Money { amount: self.amount.abs(), ..self }
    }

    /// Returns the amount with the decimals of its currency. Smaller fractions, which an EHR may report, are not
    /// rounded.
    pub fn spelled(self) -> Money {
        let mut amount = self.amount.normalize();
        let decimals = self.currency.decimals().unwrap_or(self.amount.scale());
        if amount.scale() < decimals {
            amount.rescale(decimals);
        }
        Money { amount, ..self }
    }

    /// Returns `true` if the currency has enough decimals for the amount.
    pub fn is_exact(&self) -> bool {
        self.currency.decimals().is_none_or(|decimals| self.amount.normalize().scale() <= decimals)
    }
}

impl fmt::Display for Money {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.amount, self.currency)
    }
}

impl Currency {
    /// The US dollar, the default currency of clients.
    pub const USD: Currency = Currency(*b"USD");

    /// Returns a currency of the list, or `None` for another code.
    pub fn known(code: &str) -> Option<Currency> {
        code.parse::<Currency>().ok().filter(|it| it.decimals().is_some())
    }

    /// Returns the decimals of the currency, or `None` if it is not in the list.
    pub fn decimals(&self) -> Option<u32> {
        let at = CURRENCIES.binary_search_by_key(&self.as_str(), |(known, _)| known).ok()?;
        CURRENCIES.get(at).map(|(_, decimals)| *decimals)
    }

    /// Returns the code.
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("a currency code is ASCII")
    }
}

impl FromStr for Currency {
    type Err = MoneyError;

    fn from_str(text: &str) -> Result<Currency, MoneyError> {
        let letters: [u8; 3] = text.as_bytes().try_into().map_err(|_| MoneyError::Currency)?;
        if letters.iter().all(u8::is_ascii_uppercase) { Ok(Currency(letters)) } else { Err(MoneyError::Currency) }
    }
}

impl fmt::Display for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for Currency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Serialize for Currency {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> Deserialize<'de> for Currency {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Currency, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// Parses digits with an optional sign and point, as in the contract: no exponent, no separators.
fn parse_amount(text: &str) -> Result<Decimal, MoneyError> {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (whole, fraction) = unsigned.split_once('.').unwrap_or((unsigned, "0"));
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(whole) || !digits(fraction) || unsigned.len() > DIGITS + 1 {
        return Err(MoneyError::Amount);
    }
    Decimal::from_str_exact(text).map_err(|_| MoneyError::Amount)
}

fn write_amount<S: Serializer>(amount: &Decimal, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(amount)
}

fn read_amount<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Decimal, D::Error> {
    parse_amount(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

/// The active currencies of ISO 4217, without funds, metals and test codes: codes with their decimals, sorted by code.
#[rustfmt::skip]
pub const CURRENCIES: &[(&str, u32)] = &[
    ("AED", 2), ("AFN", 2), ("ALL", 2), ("AMD", 2), ("ANG", 2), ("AOA", 2), ("ARS", 2), ("AUD", 2), ("AWG", 2),
    ("AZN", 2), ("BAM", 2), ("BBD", 2), ("BDT", 2), ("BGN", 2), ("BHD", 3), ("BIF", 0), ("BMD", 2), ("BND", 2),
    ("BOB", 2), ("BRL", 2), ("BSD", 2), ("BTN", 2), ("BWP", 2), ("BYN", 2), ("BZD", 2), ("CAD", 2), ("CDF", 2),
    ("CHF", 2), ("CLP", 0), ("CNY", 2), ("COP", 2), ("CRC", 2), ("CUP", 2), ("CVE", 2), ("CZK", 2), ("DJF", 0),
    ("DKK", 2), ("DOP", 2), ("DZD", 2), ("EGP", 2), ("ERN", 2), ("ETB", 2), ("EUR", 2), ("FJD", 2), ("FKP", 2),
    ("GBP", 2), ("GEL", 2), ("GHS", 2), ("GIP", 2), ("GMD", 2), ("GNF", 0), ("GTQ", 2), ("GYD", 2), ("HKD", 2),
    ("HNL", 2), ("HTG", 2), ("HUF", 2), ("IDR", 2), ("ILS", 2), ("INR", 2), ("IQD", 3), ("IRR", 2), ("ISK", 0),
    ("JMD", 2), ("JOD", 3), ("JPY", 0), ("KES", 2), ("KGS", 2), ("KHR", 2), ("KMF", 0), ("KPW", 2), ("KRW", 0),
    ("KWD", 3), ("KYD", 2), ("KZT", 2), ("LAK", 2), ("LBP", 2), ("LKR", 2), ("LRD", 2), ("LSL", 2), ("LYD", 3),
    ("MAD", 2), ("MDL", 2), ("MGA", 2), ("MKD", 2), ("MMK", 2), ("MNT", 2), ("MOP", 2), ("MRU", 2), ("MUR", 2),
    ("MVR", 2), ("MWK", 2), ("MXN", 2), ("MYR", 2), ("MZN", 2), ("NAD", 2), ("NGN", 2), ("NIO", 2), ("NOK", 2),
    ("NPR", 2), ("NZD", 2), ("OMR", 3), ("PAB", 2), ("PEN", 2), ("PGK", 2), ("PHP", 2), ("PKR", 2), ("PLN", 2),
    ("PYG", 0), ("QAR", 2), ("RON", 2), ("RSD", 2), ("RUB", 2), ("RWF", 0), ("SAR", 2), ("SBD", 2), ("SCR", 2),
    ("SDG", 2), ("SEK", 2), ("SGD", 2), ("SHP", 2), ("SLE", 2), ("SOS", 2), ("SRD", 2), ("SSP", 2), ("STN", 2),
    ("SVC", 2), ("SYP", 2), ("SZL", 2), ("THB", 2), ("TJS", 2), ("TMT", 2), ("TND", 3), ("TOP", 2), ("TRY", 2),
    ("TTD", 2), ("TWD", 2), ("TZS", 2), ("UAH", 2), ("UGX", 0), ("USD", 2), ("UYU", 2), ("UZS", 2), ("VED", 2),
    ("VES", 2), ("VND", 0), ("VUV", 0), ("WST", 2), ("XAF", 0), ("XCD", 2), ("XCG", 2), ("XOF", 0), ("XPF", 0),
    ("YER", 2), ("ZAR", 2), ("ZMW", 2), ("ZWG", 2),
];

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    fn usd(amount: &str) -> Money {
        Money::parse(amount, "USD").unwrap()
    }

    #[test]
    fn amounts_keep_their_scale() {
        for amount in ["12.50", "-12.50", "0", "0.00", "1200", "-0.005", "12345678901234567890.12345678"] {
            let value = json!({"amount": amount, "currency": "USD"});
            let money: Money = serde_json::from_value(value.clone()).unwrap();
            assert_eq!(serde_json::to_value(money).unwrap(), value);
        }
    }

    #[test]
    fn amounts_that_are_not_decimals_are_rejected() {
        for amount in ["", "-", ".5", "5.", "1e3", "1_000", "1,000", "+1", " 1", "NaN", "--1", "1.2.3", "٣"] {
            assert_eq!(Money::parse(amount, "USD"), Err(MoneyError::Amount), "{amount}");
        }
        assert_eq!(Money::parse(&"9".repeat(30), "USD"), Err(MoneyError::Amount));
        for number in [json!(12.5), json!(12), json!(null)] {
            assert!(serde_json::from_value::<Money>(json!({"amount": number, "currency": "USD"})).is_err());
        }
    }

    #[test]
    fn currencies_are_three_capital_letters() {
        for currency in ["usd", "US", "USDT", "U5D", "ÄB", ""] {
            assert_eq!(Money::parse("1", currency), Err(MoneyError::Currency), "{currency}");
        }
        assert_eq!(usd("1").currency, Currency::USD);
    }

    #[test]
    fn currency_codes_are_sorted_and_unique() {
        assert!(CURRENCIES.windows(2).all(|pair| pair[0].0 < pair[1].0));
        assert!(CURRENCIES.iter().all(|(code, decimals)| code.len() == 3 && *decimals <= 3));
        let decimals = ["USD", "JPY", "KWD", "XXX"].map(|code| code.parse::<Currency>().unwrap().decimals());
        assert_eq!(decimals, [Some(2), Some(0), Some(3), None]);
    }

    #[test]
    fn amounts_are_spelled_with_the_decimals_of_their_currency() {
        let spelled =
            |amount: &str, currency: &str| Money::parse(amount, currency).unwrap().spelled().amount.to_string();
        for (amount, currency, expected) in [
            ("10.5", "USD", "10.50"),
            ("105", "USD", "105.00"),
            ("-7.500", "USD", "-7.50"),
            ("-0", "USD", "0.00"),
            ("0.005", "USD", "0.005"),
            ("1200.00", "JPY", "1200"),
            ("1.5", "KWD", "1.500"),
            ("1.50", "XXX", "1.50"),
            ("9999999999999999999999999999", "USD", "9999999999999999999999999999"),
        ] {
            assert_eq!(spelled(amount, currency), expected, "{amount} {currency}");
        }
        assert!(usd("1.50").is_exact() && !usd("1.505").is_exact() && usd("1.500").is_exact());
        assert_eq!((Currency::known("XXX"), Currency::known("usd")), (None, None));
    }

    #[test]
    fn sums_are_exact_and_only_of_one_currency() {
        assert_eq!(Money::sum(&[usd("0.1"), usd("0.2")]).unwrap().to_string(), "0.3 USD");
        assert_eq!(Money::sum(&[usd("10"), usd("-10.00")]).unwrap().to_string(), "0.00 USD");
        assert_eq!(Money::sum(&[]), None);
        assert_eq!(Money::sum(&[usd("1"), Money::parse("1", "CAD").unwrap()]), None);
        assert_eq!(Money::sum(&[usd(&"9".repeat(28)); 9]), None);
    }
}
