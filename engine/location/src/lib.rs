//! The rules of one practice location. Pure and synchronous: no clock, no randomness, no IO; all of them are arguments.

pub mod calendar;
pub mod hours;
pub mod ids;
pub mod pull;
pub mod slots;
pub mod time;
pub mod zone;
