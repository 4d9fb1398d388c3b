//! Free slots: times at which a provider works, the place is free, and the appointment fits.
//!
//! ```text
//! working hours ──► windows ──┐
//!                             ├──► free ──► search ──► slots
//! calendar ───────► gaps ─────┘               ▲
//!                                    query · restrictions
//! ```

mod free;
mod grid;
mod query;
mod restrictions;
mod search;
mod starts;
mod windows;

pub use query::{Slot, SlotQuery};
pub use search::{Fit, Wanted, fits, free_slots, nearest, next_available};
pub use starts::StartFilter;

pub(crate) use restrictions::Restrictions;
pub(crate) use search::{nearest_by, restricted_slots};
