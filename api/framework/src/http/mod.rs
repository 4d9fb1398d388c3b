//! HTTP requests and responses: reading under limits, problems, paging, errors and metrics. Independent of API keys,
//! institutions and records.
//!
//! ```text
//!  query ◄── paging                            ┌── fields ──► body ──► row, find_limits, version_header
//!  rules ◄── rate_limit ◄──────────── errors ◄─┘
//!                ▲
//!             context ◄── endpoint, metrics     request data; declaration of an endpoint
//!
//!  compatibility ◄── rules, version_header, cors     options for clients of other systems
//!  cors, proxies ◄── rules     describe   inputs of an endpoint       notices   ignored and withheld names
//!  tls ──► rules     the certificates of listeners
//!  connections ──► proxies     open connections       response_body     slices and their total
//!  connections, rate_limit ──► keyed_semaphore     connections of an address, delayed calls and streams of a key
//! ```

pub mod body;
pub mod compatibility;
pub mod connections;
pub mod context;
pub mod cors;
pub mod describe;
pub mod endpoint;
pub mod errors;
pub mod fields;
pub mod find_limits;
pub mod keyed_semaphore;
pub mod metrics;
pub mod notices;
pub mod paging;
pub mod proxies;
pub mod query;
pub mod rate_limit;
pub mod rejected_callers;
pub mod response_body;
pub mod row;
pub mod rules;
mod service_errors;
pub mod tls;
pub mod version_header;
