//! Access to records within the caller's permissions. Uses tenancy and the engine's lists, independent of individual
//! resources.
//!
//! ```text
//!  listing ◄── visible     filtered lists; visible records, with audit entries for reads
//!  saving                  writes, once per Idempotency-Key
//! ```

pub mod listing;
pub mod saving;
pub mod visible;
