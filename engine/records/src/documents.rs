//! Uploaded documents of patients. The bytes are stored separately.

use serde::{Deserialize, Serialize};

/// A document that was uploaded here.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Upload {
    /// Size in bytes.
    pub bytes: u64,
    /// SHA-256 of the bytes, in hex.
    pub digest: String,
}
