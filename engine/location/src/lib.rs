//! The rules of one practice location. Pure and synchronous: the current time and random numbers are arguments, and
//! there is no IO. `settings!` declares configuration keys, here and in the crates above.
//!
//! `decide` reads the state and returns a decision, `evolve` applies events, `wake_at` returns the time of the single
//! timer, and `check` asserts the invariants. The processor commits the events between `decide` and `evolve`.
//!
//! ```text
//!              command ─────────────► decide ─────────────► decision: reply, events, calls
//!                      commands │ writes │ sync │ wake              │
//!                                    ▲                              ▼ durable
//! settings ──────────────────────────┤                            evolve
//!                                  state ◄──────────────────────────┘
//!            schedule (calendar, hours, slots, zone) · queue · pulls · breaker · quota · gate · pause
//! ```

#![warn(unreachable_pub)]

mod check;
pub mod command;
mod commands;
pub mod decision;
pub mod event;
mod evolve;
pub mod explain;
pub mod gate;
pub mod ids;
pub mod key_kinds;
pub mod keys;
mod machine;
pub mod pause;
pub mod quota;
mod random;
pub mod resource;
mod restored;
pub mod rules;
mod schedule;
pub mod settings;
pub mod state;
mod sync;
pub mod time;
mod wake;
mod writes;

pub use command::{Command, DecisionContext};
pub use decision::{Call, Decision, Refusal, Reply};
pub use event::Event;
pub use ids::{
    AppointmentId, AppointmentTypeId, InstitutionId, LocationId, OperatoryId, PatientId, ProviderId, WorkingHourId,
    WriteId,
};
pub use machine::Location;
pub use resource::{Operation, Resource};
pub use rules::{Closure, Reason, RuleSet, VisitRules};
pub use schedule::{
    calendar::{self, Calendar, Holder, Placement},
    hours::{self, HourKind, HourSource, Recurrence, Weekday, WorkingHour},
    slots::{self, Slot, SlotQuery},
    zone::{self, Date, Zone},
};
pub use settings::{Capabilities, MachineSettings, PullRules, Quota, WriteRules};
pub use state::{CalendarAppointment, Insert, State};
pub use sync::pulls as pull;
pub use time::{DAY, HOUR, MINUTE, Millis, SECOND, Span, Timestamp};
pub use writes::{
    intent::{self, WriteIntent},
    order::{self, OrderingKey},
    queue, replacement,
};
