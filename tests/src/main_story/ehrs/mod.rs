//! The practices it is told with.

pub mod fhir;
pub mod gnuhealth;
pub mod open_dental;
