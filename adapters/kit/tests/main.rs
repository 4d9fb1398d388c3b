//! The kit with a real toolchain: scaffolds that build, and the bindings of the SDK.
#![allow(clippy::unwrap_used)]

mod bindings;
mod scaffold_builds;
mod typings;
