//! The application as a browser meets it.
#![allow(clippy::unwrap_used)]

mod browser;
mod calls;
mod pages;
mod sessions;
mod troubles;
