//! The workstation gateway: requests to EHRs that open only in the browser session of a staff member who is logged in. A browser
//! extension on the workstation performs them, one lease holder per location (`adapters/extension/PROTOCOL.md`).
//!
//! ```text
//! adapter ──► GatewayLocation ──► Lease (pure) ──► the holder's WorkstationConnection ──► browser extension ──► EHR
//!                  ▲                                        ▲
//!               Gateway ── devices (paired, tokens) ── Session (one WebSocket)
//! ```
//!
//! `lease` has the rules of one location, without clock and IO; `devices` knows what is paired; `gateway` holds all locations;
//! `gateway_location` is one location's lease with its connections; `protocol` has the frames; `acts` is what an audit trail is told.

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
