//! A secret value. Its `Debug` output is redacted, so that it is not logged by accident.

use std::fmt;

#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(value: impl Into<String>) -> Secret {
        Secret(value.into())
    }

    /// Accepts any text.
    pub fn parse(text: &str) -> Result<Secret, String> {
        Ok(Secret::new(text))
    }

    /// Returns the value, for the only code that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(redacted)")
    }
}
