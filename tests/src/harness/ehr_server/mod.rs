//! EHRs on loopback for tests, reached by adapters over the network.
//!
//! | file | EHR |
//! |---|---|
//! | `simulated.rs` | the demo's simulated EHR |
//! | `open_dental/` | a fake of Open Dental, written from its public documentation |
//! | `fake.rs` | the HTTP server below these two: a value that answers requests and that the test can read |
//! | `fhir.rs` | third-party FHIR servers, from npm and PyPI |
//! | `gnuhealth.rs` | a real GNU Health server, from PyPI |

pub mod fake;
pub mod fhir;
pub mod gnuhealth;
pub mod open_dental;
mod simulated;

pub use simulated::EhrServer;
