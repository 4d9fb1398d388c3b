//! The adapter natively: its parts, and stories on recorded answers.
#![allow(clippy::unwrap_used)]

mod parts;
mod stories;
mod tape;
