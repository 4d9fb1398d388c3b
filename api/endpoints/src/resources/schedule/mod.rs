//! Free slots, appointments, their types, and working hours.

pub mod appointment_types;
pub mod appointment_writes;
pub mod appointments;
pub mod available_slots;
pub mod descriptors;
pub mod slot_weeks;
pub mod working_hour_labels;
pub mod working_hours;
