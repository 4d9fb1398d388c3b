//! One actor per location: decide, commit, evolve, act. `location` decides, this crate turns requests into commands, events into records,
//! and waits for the store, the EHR and the clock.

pub mod actor;
mod at_gate;
mod before;
pub mod book;
pub mod change_counter;
pub mod disk_share;
pub mod docs;
pub mod error;
mod gone;
mod identity;
mod intake;
pub mod note_keys;
mod operator;
pub mod outgoing;
mod own_hours;
mod pages;
pub mod pool;
mod project;
pub mod request;
pub mod requests;
mod saving;
mod seen_at;
mod standing;
mod sync_told;
mod told;
pub mod turn;
pub mod write_requests;
mod written;
