//! Access to records within the caller's permissions. Uses tenancy and the engine's lists, independent of individual
//! resources.
//!
//! ```text
//!  listing ◄── visible     pages of lists; records by id, and all that match
//!  saving                  writes, once per Idempotency-Key
//! ```

pub mod listing;
pub mod saving;
pub mod visible;
