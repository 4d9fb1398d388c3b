//! What one value is: how it is read, checked, signed and written. Knows neither requests nor answers, neither callers nor records;
//! whatever is above may use it.
//!
//! ```text
//!  kinds ◄── expected          what a parameter or field must be, and how the documentation describes it
//!  limits                      every fixed limit, with its reason
//!  words                       closed lists of words: as code, wire and documents have them
//!  times, versions, reasons, role, grant    closed lists and formats that appear in JSON
//!  record_uuid                 ids of records as UUIDs
//!  secret ◄── token ◄── sessions, cursor, slot_token      what is handed to clients and comes back, signed
//! ```

pub mod audience;
pub mod cursor;
pub(crate) mod expected;
pub(crate) mod grant;
pub mod kinds;
pub(crate) mod limits;
pub(crate) mod reasons;
pub(crate) mod record_uuid;
pub mod role;
pub mod secret;
pub(crate) mod sessions;
pub(crate) mod slot_token;
pub mod times;
pub(crate) mod token;
pub mod versions;
pub(crate) mod words;
