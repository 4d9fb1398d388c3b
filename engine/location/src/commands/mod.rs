//! What clients and operators ask of a location: each file decides some commands, and changes nothing.
//!
//! ```text
//! command ──► booking │ saving │ own_hours │ operator │ gate ──► decision (reply, events, calls)
//! ```

mod booking;
mod gate;
mod operator;
mod own_hours;
mod pause;
mod saving;

pub(crate) use booking::Wish;
