//! The configuration: TOML in one file or a folder of files. Unknown keys are errors, and all problems are reported
//! together with their lines. The module starts nothing and uses the routes only to check endpoints with rate limits.
//!
//! ```text
//!  document, values, kinds ◄── reader                  texts and their findings; reads the rows of `settings!`
//!  reader ◄── http, engine_rules, node, traces   tables of the server
//!         ◄── sources ◄── institutions                EHRs and tenants
//!         all of these ◄── file, keys ◄── load        whole files, API keys, files on disk
//!         keys ◄── key_file                           edits of the key file
//!         file, keys ◄── reference (describe)         the reference of all keys
//!         contents                                    the resulting types
//! ```

#![warn(unreachable_pub)]

pub mod audit_trail;
mod contents;
mod describe;
mod document;
mod engine_rules;
mod file;
mod http;
mod institutions;
mod key_file;
mod keys;
mod kinds;
mod load;
pub mod logging;
mod node;
mod reader;
pub mod reference;
mod renamed;
mod sources;
#[cfg(test)]
mod tests;
mod traces;
pub mod tracing_export;
mod values;

/// The file that `config init` writes.
pub const STARTER: &str = include_str!("starter.toml");

pub use crate::{contents::KeyFileContents, key_file::KeyFile};
pub use crate::{
    contents::{AuditRules, Config},
    document::Problem,
    load::ConfigError,
    values::{ConfigChanges, Values},
};
pub use framework::http::rules::{HttpRules, RateRules};
