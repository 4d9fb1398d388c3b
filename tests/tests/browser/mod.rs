//! In a real Chromium: the browser extension, against an engine and an EHR that misbehave and as a practice uses it, end to end; the operators' console;
//! the documentation page.

mod console;
mod docs;
mod misbehaved;
mod modules;
mod practice;
