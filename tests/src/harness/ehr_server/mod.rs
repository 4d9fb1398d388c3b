//! EHRs that run beside a test, on loopback: what adapters reach over the network.
//!
//! | file | EHR |
//! |---|---|
//! | `simulated.rs` | the demo's simulated EHR |
//! | `open_dental/` | a fake of Open Dental, written from its public documentation |
//! | `fake.rs` | the HTTP server below these two: a value that answers requests, which the test can look at meanwhile |
//! | `fhir.rs` | FHIR servers of other projects, from npm and PyPI |
//! | `gnuhealth.rs` | a GNU Health server that nobody here wrote, from PyPI |

pub mod fake;
pub mod fhir;
pub mod gnuhealth;
pub mod open_dental;
mod simulated;

pub use simulated::EhrServer;
