//! Adapters: the sandbox in which EHR-specific code runs, and the only room that knows wasmtime.
//!
//! ```text
//! host: load, compile, try ──► adapter ──► slot ◄── registry (names)
//!                                            ▲
//! connection (a location's Ehr) ─────────────┘ ──► instance ──► imports: http, gate, log, clock, config
//!      convert, check: WIT ⇄ records                  link: what the calls share · trace: what one call did
//! ```
//!
//! [`Host`] loads a component file into an [`Adapter`]; [`AdapterRegistry`] names adapters and swaps versions under running connections;
//! a [`Connection`] makes of an adapter one location's [`Ehr`](records::ehr::Ehr).
//!
//! What holds whatever a guest does: a call ends by its deadline; it ends as an answer that keeps the contract's rules or as a
//! fault; a write that the EHR may have seen is never reported as not written; memory, requests, log lines and what is copied out
//! of the sandbox are bounded; no request leaves the location's base URL, and credentials, access tokens and sessions never enter the sandbox.

#![warn(unreachable_pub)]

mod adapter;
mod bindings;
mod cache;
mod check;
mod clock;
mod connection;
mod convert;
mod costs;
mod credentials;
mod error;
mod exports;
mod gate;
mod guest_log;
mod host;
mod host_shared;
mod imports;
mod instance;
mod limits;
mod link;
mod log_line;
mod manifest;
mod metered;
mod outbound;
mod places;
mod record;
mod redact;
mod registry;
mod slot;
mod trace;
mod transport;
mod trap;
mod trial;
mod words;

pub use adapter::Adapter;
pub use adapter_component::{COMPONENT_BYTES, Unfit};
pub use connection::{Connection, check_address};
pub use costs::{CallCosts, CostsByCall};
pub use credentials::Authorized;
pub use error::{HostError, JudgeError, LoadError, LoadFailed};
pub use gate::{Gate, GateError, GateFuture, GateRequest, WriteTag};
pub use host::Host;
pub use link::Clock;
pub use log_line::plain;
pub use manifest::{CONTRACT_PACKAGE, CONTRACT_VERSION, Manifest};
pub use outbound::AddressError;
pub use registry::AdapterRegistry;
pub use reqwest::Url;
pub use slot::Standing;
pub use transport::{HttpRequest, HttpResponse, HttpTransport, TlsError, Transport, TransportError, TransportFuture};
