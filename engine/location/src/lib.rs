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

#![warn(missing_docs, unreachable_pub)]

mod check;
pub mod command;
mod commands;
pub mod decision;
pub mod event;
mod evolve;
pub mod explain;
pub mod gate;
pub mod ids;
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

pub use machine::Location;
pub use schedule::{calendar, hours, slots, zone};
pub use sync::pulls as pull;
pub use writes::{intent, order, queue, replacement};
