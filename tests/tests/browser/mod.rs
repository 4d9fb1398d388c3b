//! Tests in Chromium: the browser extension against a misbehaving engine and EHR and end to end, the operators'
//! console, and the documentation page.

mod console;
mod docs;
mod misbehaved;
mod modules;
mod practice;
