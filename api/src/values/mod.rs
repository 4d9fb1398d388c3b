//! Single values: parsing, validation, signing and formatting. Independent of requests, responses, callers and records;
//! all higher modules may use it.
//!
//! ```text
//!  kinds ◄── expected          parsing and documentation of parameters and fields
//!  limits                      fixed limits, with reasons
//!  words                       enumerations on the wire and in documents
//!  times, versions, reasons, role, grant    enumerations and formats in JSON
//!  record_uuid                 UUIDs of records
//!  secret ◄── token ◄── sessions, cursor, slot_token      signed values that clients return
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
