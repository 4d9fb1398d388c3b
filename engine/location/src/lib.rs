//! The rules of one practice location. Pure and synchronous: no clock, no randomness, no IO; all of them are arguments.
//!
//! `decide` reads the state and says what should happen, `evolve` applies what did happen, `wake_at` names the one timer to
//! set, `check` asserts the invariants. The processor commits between deciding and evolving.
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
pub mod gate;
pub mod ids;
mod machine;
pub mod pause;
pub mod quota;
mod random;
pub mod resource;
mod restored;
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
pub use writes::{intent, order, queue};
