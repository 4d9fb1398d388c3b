//! Adapters: the sandbox for EHR-specific code, and the only engine crate that depends on wasmtime.
//!
//! ```text
//! host: load, compile, try ──► adapter ──► slot ◄── registry (names)
//!                                            ▲
//! connection (a location's Ehr) ─────────────┘ ──► instance ──► imports: http, gate, log, clock, config
//!      convert, check: WIT ⇄ records                  link: shared by the calls · trace: of one call
//! ```
//!
//! [`Host`] loads a component file into an [`Adapter`]. [`AdapterRegistry`] names adapters and replaces versions under
//! running connections. A [`Connection`] makes an adapter the [`Ehr`](records::ehr::Ehr) of one location.
//!
//! The following holds for every guest. A call ends by its deadline, with an answer that satisfies the contract or with
//! a fault. A write that the EHR may have received is never reported as not written. Memory, requests, log lines and
//! the data copied out of the sandbox are bounded. No request leaves the location's base URL. Credentials, access
//! tokens and sessions never enter the sandbox.

#![warn(unreachable_pub)]

mod adapter;
mod bindings;
mod cache;
mod call_permits;
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
pub use adapter_component::{COMPONENT_BYTES, InvalidComponent};
pub use connection::{Connection, check_address};
pub use costs::{CallCosts, CostsByCall};
pub use credentials::Authorized;
pub use error::{HostError, LoadError, LoadFailed};
pub use gate::{Gate, GateError, GateFuture, GateRequest, WriteTag};
pub use host::Host;
pub use limits::GuestLimits;
pub use link::Clock;
pub use log_line::plain;
pub use manifest::{CONTRACT_PACKAGE, CONTRACT_VERSION, Manifest};
pub use outbound::{AddressError, common_paths};
pub use registry::AdapterRegistry;
pub use reqwest::Url;
pub use slot::LoadState;
pub use transport::{HttpRequest, HttpResponse, HttpTransport, TlsError, Transport, TransportError, TransportFuture};
