//! Appointment scheduling: working hours, the calendar of busy spans, and free slots.
//!
//! ```text
//! zone ◄── hours ◄── slots ──► calendar
//! ```
//!
//! The module does not depend on writes or on the EHR.

pub mod calendar;
pub mod hours;
pub mod slots;
pub mod zone;
