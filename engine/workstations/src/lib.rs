//! The workstation gateway: requests to EHRs that are accessible only in the browser session of a logged-in staff
//! member. A browser extension on the workstation performs the requests, with one lease holder per location
//! (`adapters/extension/PROTOCOL.md`).
//!
//! ```text
//! adapter ──► GatewayLocation ──► Lease (pure) ──► the holder's WorkstationConnection ──► browser extension ──► EHR
//!                  ▲                                        ▲
//!               Gateway ── devices (paired, tokens) ── Session (one WebSocket)
//! ```
//!
//! `lease` has the rules of one location, without clock and IO. `gateway_location` is the lease of one location with
//! its connections, and `gateway` holds all locations. `devices` manages paired workstations, `protocol` defines the
//! frames, and `acts` reports to the audit trail.

#![warn(unreachable_pub)]

mod acts;
mod devices;
mod gateway;
mod gateway_location;
mod guesses;
mod lease;
pub mod limits;
pub mod protocol;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use acts::Act;
pub use devices::{CodeKind, NewCode, Workstation, WorkstationError};
pub use gateway::{Gateway, Paired, Session};
pub use gateway_location::{GatewayLocation, Messages};
pub use protocol::{ByeReason, EhrAccess, FromWorkstation, ToWorkstation};
