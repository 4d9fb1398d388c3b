//! The adapter host against a guest that misbehaves on request and EHRs that do.
#![allow(clippy::unwrap_used)]

mod cache;
mod containment;
mod contract;
mod costs;
mod first_version;
mod gate;
mod network;
mod oauth;
mod outside;
mod sessions;
mod support;
mod swap;
