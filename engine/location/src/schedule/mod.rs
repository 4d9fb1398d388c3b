//! When an appointment can take place: working hours, what the calendar has busy, and the slots that are left.
//!
//! ```text
//! zone ◄── hours ◄── slots ──► calendar
//! ```
//!
//! Nothing here knows of writes or of the EHR.

pub mod calendar;
pub mod hours;
pub mod slots;
pub mod zone;
