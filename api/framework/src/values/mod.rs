//! Single values: parsing, validation, signing and formatting. Independent of requests, responses, callers and records;
//! all higher modules may use it.
//!
//! ```text
//!  kinds ◄── expected          parameters and fields: parsing, checks and their documentation
//!  limits                      every fixed limit, with its reason
//!  words                       closed lists of words: as code, wire and documents have them
//!  times, versions, failures, role, grant    closed lists and formats that appear in JSON
//!  record_uuid                 ids of records as UUIDs
//!  rule_texts                  sentences for booking rules
//!  secret ◄── token ◄── sessions, slot_token, visit_token      signed data that clients send back
//! ```

pub mod audience;
pub mod expected;
pub mod failures;
pub mod grant;
pub mod kinds;
pub mod limits;
pub mod record_uuid;
pub mod role;
pub mod rule_texts;
pub mod secret;
pub mod sessions;
pub mod slot_token;
pub mod times;
pub mod token;
pub mod versions;
pub mod visit_token;
pub mod words;
