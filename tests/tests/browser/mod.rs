//! In a real Chromium: the browser extension, against an engine and an EHR that misbehave and as a practice uses it, end to end; the operators' console.

mod console;
mod misbehaved;
mod modules;
mod practice;
