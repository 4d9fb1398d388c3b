//! Reading the EHR: one resource after the other, page by page.
//!
//! ```text
//! cycle ──► call ──► page ──┬──► absence   records missing from a whole pass
//!   ▲                       ├──► guard     deletions, and their limit
//!   │                       ├──► matching  appointments of the EHR, and ours
//!   └────── pulls ◄─────────┘    progress of each resource
//!            prefetch            the page after the one in flight
//!            read_requests       reads of the appointments before their time
//!            rhythm              the time of the next cycle
//! ```

pub(crate) mod absence;
mod cycle;
mod guard;
mod matching;
pub(crate) mod page;
pub(crate) mod prefetch;
pub mod pulls;
mod read_requests;
mod rhythm;
pub(crate) mod running_cycle;
pub(crate) mod schedule_read;

/// Returns `true` for zero. Such fields are left out of journals and snapshots.
pub(crate) fn is_zero<T: Default + PartialEq>(number: &T) -> bool {
    *number == T::default()
}
