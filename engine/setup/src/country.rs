//! Country codes.

use std::fmt;

/// The code of a country in ISO 3166-1: two capital letters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CountryCode([u8; 2]);

impl CountryCode {
    pub const US: CountryCode = CountryCode(*b"US");

    pub fn parse(text: &str) -> Result<CountryCode, String> {
        match *text.as_bytes() {
            [one, two] if one.is_ascii_uppercase() && two.is_ascii_uppercase() => Ok(CountryCode([one, two])),
            _ => Err("must be a country code of two capital letters".to_owned()),
        }
    }

    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.0).expect("capital letters are ASCII")
    }
}

impl fmt::Display for CountryCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
