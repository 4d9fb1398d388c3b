//! Tests of the adapter host with a guest that misbehaves on request, and with several EHRs.
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
mod threads;
