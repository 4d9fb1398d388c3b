//! Reading the EHR: one resource after the other, page by page.
//!
//! ```text
//! cycle ──► call ──► page ──┬──► absence   records that a whole pass did not show
//!   ▲                       ├──► guard     deletions, and whether they may be believed
//!   │                       ├──► matching  appointments the EHR shows, and ours
//!   └────── pulls ◄─────────┘    how far each resource came
//! ```

pub(crate) mod absence;
mod cycle;
mod guard;
mod matching;
pub(crate) mod page;
pub mod pulls;

/// For fields that are left out of journals and snapshots.
pub(crate) fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}
