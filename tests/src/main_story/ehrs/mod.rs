//! The practices of the main story.

pub mod fhir;
pub mod gnuhealth;
pub mod open_dental;
