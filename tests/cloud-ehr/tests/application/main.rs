//! The application tested through a browser's requests.
#![allow(clippy::unwrap_used)]

mod browser;
mod calls;
mod faults;
mod pages;
mod rules;
mod sessions;
