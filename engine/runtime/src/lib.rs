//! Process-wide services: clock and randomness (`clock`), wake-ups (`doorbell`), counters (`metrics`),
//! errors (`recent_errors`), the current request (`origin`), a semaphore for processors (`turns`), work on blocking
//! threads (`blocking`), and time zones (`zones`). The crate knows no record, no store and no EHR.
//!
//! Only `clock` reads the time and random numbers. All other code gets them as arguments, so that tests and the
//! simulation can choose them.

#![warn(unreachable_pub)]

mod blocking;
pub mod clock;
pub mod doorbell;
pub mod metrics;
pub mod origin;
pub mod recent_errors;
pub mod turns;
pub mod zones;

pub use blocking::run_blocking;
pub use doorbell::Doorbell;
pub use metrics::Metrics;
pub use origin::{Caller, Origin, OriginChange};
pub use recent_errors::{ErrorSource, RecentError, RecentErrors};
