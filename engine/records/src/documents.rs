//! What was uploaded of a patient's document. The bytes are kept elsewhere.

use serde::{Deserialize, Serialize};

/// A document that was uploaded here.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upload {
    /// Its size.
    pub bytes: u64,
    /// SHA-256 of the bytes, in hex.
    pub digest: String,
}
