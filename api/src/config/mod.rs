//! The configuration file: TOML, read with line numbers, unknown keys refused, all problems told at once. Knows the routes only to
//! check the endpoints that have rate limits of their own; starts nothing.
//!
//! ```text
//!  reader ◄── knobs ◄── file ◄── load     text → sections → settings of locations → whole file → from the disk
//!          ◄── database ◄─┤                                 the table of the store's database
//!          ◄── compatibility ◄┤                             what is let in for clients of other systems
//!          ◄── node ◄─────┤                                 the table of a node among others
//!          ◄── tls ◄──────┘                                 the certificate of a listener
//!                       contents          what it all becomes
//! ```

mod compatibility;
mod contents;
mod database;
mod file;
mod knobs;
mod load;
mod node;
mod reader;
#[cfg(test)]
mod tests;
mod tls;

pub use self::{
    contents::{AuditRules, Config},
    load::ConfigError,
};
pub use crate::http::rules::{HttpRules, RateRules};

/// A complete file with every key, its default and its meaning.
pub(crate) const DEFAULT: &str = include_str!("default.toml");
