//! Booking rules: the practice's own conditions for visits that are booked through intents.
//!
//! ```text
//! configuration ──► rule_set ──► visit_rules (in force for a type and a channel) ──┐
//!                                closure · instead                                 ├──► judge ──► reason
//! candidate (slot, type, channel, patient) ────────────────────────────────────────┤     ▲
//! day_load (visits of a local day) ────────────────────────────────────────────────┘     │
//!                                                       offered (slots of a query) ──────┘
//! ```
//!
//! `Location::judge` is the only function that decides about a time. `Location::offered_slots` generates candidates
//! that it offers. Working hours and the calendar are checked by `schedule`. Requests of staff are not bound by rules.

mod candidate;
mod closure;
mod day_load;
mod instead;
mod judge;
mod offered;
mod reason;
mod rule_set;
mod visit_rules;

pub use candidate::{Candidate, Companion, PatientFacts};
pub use closure::Closure;
pub use instead::Instead;
pub use reason::Reason;
pub use rule_set::{RuleSet, channel_name};
pub use visit_rules::{Contradiction, DailyCaps, RuleOverrides, VisitRules};

pub(crate) use judge::patient_reason;
