//! The configuration: TOML in one file or a folder of files. Unknown keys are errors, and all problems are reported
//! together with their lines. The module starts nothing and uses the routes only to check endpoints with rate limits.
//!
//! ```text
//!  document, values, describe ◄── reader     texts and their findings; reads the rows of `settings!`
//!  contents                                  the rows of whole files, and the resulting types
//!  reader ◄── institutions, keys ◄── load    tenants with their EHRs, API keys, files on disk
//!             load, keys ◄── reference       the reference of all keys
//! ```

#![warn(unreachable_pub)]

mod contents;
mod describe;
mod document;
mod institutions;
mod keys;
mod load;
mod reader;
pub mod reference;
#[cfg(test)]
mod tests;
mod values;

pub use crate::{
    contents::{AuditRules, Config, KeyFileContents, LogFormat, TraceRules, log_filter},
    document::Problem,
    keys::key_file_entries,
    load::ConfigError,
    values::{ConfigChanges, Values},
};
