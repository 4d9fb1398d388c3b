//! HTTP requests and responses: reading under limits, problems, paging, errors and metrics. Independent of API keys,
//! institutions and records.
//!
//! ```text
//!  query ◄── paging ◄── envelope ◄┐            ┌── body ──► strict_json, rejected_callers, version_header
//!  rules ◄── rate_limit ◄─────────┴── errors ◄─┘
//!                ▲
//!             context ◄── endpoint, metrics     request data; declaration of an endpoint
//!
//!  compatibility ◄── rules, version_header, cors     options for clients of other systems
//!  cors, proxies ◄── rules     describe   inputs of an endpoint       notices   ignored and withheld names
//!  tls ──► rules     the certificates of listeners
//!  connections ──► proxies     open connections       response_body     slices and their total
//! ```

pub(crate) mod body;
pub mod compatibility;
pub mod connections;
pub(crate) mod context;
pub mod cors;
pub(crate) mod describe;
pub mod endpoint;
pub(crate) mod envelope;
pub mod errors;
pub(crate) mod metrics;
pub(crate) mod notices;
pub(crate) mod paging;
pub mod proxies;
pub(crate) mod query;
pub(crate) mod rate_limit;
pub(crate) mod rejected_callers;
pub mod response_body;
pub mod rules;
mod strict_json;
pub mod tls;
pub(crate) mod version_header;
