//! Records as handlers ask for them: only those a caller may see. Between `access` and `resources`: it knows tenancy and the engine's
//! lists, and no single resource.
//!
//! ```text
//!  listing ◄── visible     lists by what a request filters by; entries in reach of the caller, each read audited
//!  saving                  what is written, once for each Idempotency-Key
//! ```

pub(crate) mod listing;
pub(crate) mod saving;
pub(crate) mod visible;
