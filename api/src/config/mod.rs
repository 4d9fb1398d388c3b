//! The configuration: TOML in one file or a folder of files, read with line numbers, unknown keys refused, all problems told at once. Knows
//! the routes only to check the endpoints that have rate limits of their own; starts nothing.
//!
//! ```text
//!  problems, values, durations, spelling ◄── reader  a text, what is wrong in it, what it says; its tables, key by key
//!  reader ◄── http, engine_rules, node, traces, knobs  tables of the server: `http` with `compatibility` and `tls`, `engine_rules` with `database`
//!         ◄── sources ◄── institutions               tenants and their EHRs, each name once (`seen`)
//!         all of these ◄── file, keys ◄── load       the whole, who may call, from the disk
//!         keys ◄── key_file                          changes of the file of the keys
//!         file, keys ◄── reference (`describe`)      every key there is, told by what reads it
//!         contents                                   what it all becomes
//! ```

mod compatibility;
mod contents;
mod database;
mod describe;
mod durations;
mod engine_rules;
mod file;
mod http;
mod institutions;
mod key_file;
mod keys;
mod knobs;
mod load;
mod node;
mod problems;
mod reader;
pub(crate) mod reference;
mod seen;
mod sources;
mod spelling;
#[cfg(test)]
mod tests;
mod tls;
mod traces;
mod values;

/// The file that `config init` writes.
pub(crate) const STARTER: &str = include_str!("starter.toml");

pub(crate) use self::{contents::Access, key_file::KeyFile};
pub use self::{
    contents::{AuditRules, Config},
    load::ConfigError,
    problems::Problem,
    values::{Changes, Values},
};
pub use crate::http::rules::{HttpRules, RateRules};
