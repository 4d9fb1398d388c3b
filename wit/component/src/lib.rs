//! What an adapter's component says of itself, read without running it, and the rules for it. The tool that builds components and the
//! engine that loads them share these, so that what the one makes the other takes.

mod component;
mod manifest;
pub mod sections;
pub mod settings;
pub mod signature;

pub use component::{
    COMPONENT_BYTES, CONTRACT_PACKAGE, CONTRACT_VERSION, Facts, MANIFEST_SECTION, Unfit, facts, outer, verdict,
};
pub use manifest::{Asks, IDENTITY_HEADERS, MANIFEST_FILE, Manifest};
