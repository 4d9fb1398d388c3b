//! Free slots: where a provider is on duty, the place is not taken, and an appointment fits.
//!
//! ```text
//! working hours ──► windows ──┐
//!                             ├──► free ──► search ──► slots
//! calendar ───────► gaps ─────┘               ▲
//!                                           query
//! ```

mod free;
mod query;
mod search;
mod windows;

pub use query::{Slot, SlotQuery};
pub use search::{Fit, Wanted, fits, free_slots, nearest, next_available};
