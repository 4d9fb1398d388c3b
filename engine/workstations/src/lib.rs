//! The workstation gateway: requests to EHRs that open only in the browser session of a staff member who is logged in. A browser
//! extension on the workstation performs them, one lease holder per location (`adapters/extension/PROTOCOL.md`).
//!
//! `desk` has the rules of one location, without clock and IO; `devices` what is paired; `gateway` the connections; `room` one
//! location's desk with its connections.

pub mod desk;
pub mod devices;
pub mod gateway;
mod guesses;
pub mod limits;
pub mod protocol;
mod room;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

pub use devices::{CodeKind, NewCode, Workstation, WorkstationError};
pub use gateway::{Gateway, Messages, Paired, Session};
pub use protocol::{ByeReason, EhrAccess, FromWorkstation, ToWorkstation};
pub use room::Room;
