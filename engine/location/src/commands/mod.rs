//! Commands of clients and operators. Each file decides some of them, without changing the state.
//!
//! ```text
//! command ──► booking │ groups │ holds │ rescheduling │ saving │ own_hours │ operator │ gate ──► decision
//! ```

mod booking;
mod gate;
mod groups;
mod holds;
mod local_hours;
mod operator;
mod pause;
mod rescheduling;
mod saving;

pub(crate) use booking::{Member, PlacementRequest, check_offer};
