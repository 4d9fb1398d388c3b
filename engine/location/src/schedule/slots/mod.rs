//! Free slots: times at which a provider works, the place is free, and the appointment fits.
//!
//! ```text
//! working hours ──► windows ──┐
//!                             ├──► free ──► search ──► slots
//! calendar ───────► gaps ─────┘               ▲       └──► groups, for several patients
//!                                    query · restrictions
//! ```

mod free;
mod grid;
mod groups;
mod query;
mod restrictions;
mod search;
mod starts;
mod windows;

pub use groups::{Arrangement, Party, groups_of};
pub use query::{Slot, SlotQuery};
pub use search::{Fit, RequestedSlot, fits, free_slots, nearest_by, next_available};
pub use starts::StartFilter;

pub(crate) use restrictions::Restrictions;
pub(crate) use search::{next_available_by, restricted_slots};
