//! The browser extension in a real Chromium: against an engine and an EHR that misbehave, and as a practice uses it, end to end.
#![allow(clippy::unwrap_used)]

mod misbehaved;
mod modules;
mod practice;
