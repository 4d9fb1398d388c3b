//! Reading the EHR: one resource after the other, page by page.
//!
//! ```text
//! cycle ──► call ──► page ──┬──► guard     deletions, and whether they may be believed
//!   ▲                       ├──► matching  appointments the EHR shows, and ours
//!   └────── pulls ◄─────────┘    how far each resource came
//! ```

mod cycle;
mod guard;
mod matching;
pub(crate) mod page;
pub mod pulls;
