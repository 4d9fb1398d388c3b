//! Message authentication codes: HMAC-SHA256, written as hex.

use std::fmt;

use hmac::{Hmac, KeyInit, Mac as _};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};
use sha2::Sha256;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mac([u8; 32]);

impl Mac {
    /// The MAC used before the first entry.
    pub(crate) const NONE: Self = Self([0; 32]);
}

/// The HMAC state initialized with the secret. Cloning it halves the cost for a short text.
#[derive(Clone)]
pub(crate) struct MacKey(Hmac<Sha256>);

impl MacKey {
    pub(crate) fn new(secret: &[u8; 32]) -> Self {
        Self(Hmac::new_from_slice(secret).expect("HMAC takes keys of any length"))
    }

    pub(crate) fn mac(&self, previous: Mac, text: &[u8]) -> Mac {
        let mut mac = self.0.clone();
        mac.update(&previous.0);
        mac.update(text);
        Mac(mac.finalize().into_bytes().into())
    }
}

impl fmt::Display for Mac {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = [0; 64];
        hex::encode_to_slice(self.0, &mut digits).map_err(|_| fmt::Error)?;
        f.write_str(std::str::from_utf8(&digits).map_err(|_| fmt::Error)?)
    }
}

impl Serialize for Mac {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Mac {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut mac = Self::NONE;
        hex::decode_to_slice(String::deserialize(deserializer)?, &mut mac.0).map_err(D::Error::custom)?;
        Ok(mac)
    }
}
