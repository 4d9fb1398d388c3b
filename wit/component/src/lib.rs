//! The manifest, signature and properties of an adapter's component, read without running it, and the rules for them.
//! The build tool and the engine share these rules, so that the engine accepts every built component.

mod component;
mod manifest;
pub mod sections;
pub mod settings;
pub mod signature;

pub use component::{
    COMPONENT_BYTES, CONTRACT_PACKAGE, CONTRACT_VERSION, Facts, InvalidComponent, MANIFEST_SECTION, facts, outer,
    verdict,
};
pub use manifest::{IDENTITY_HEADERS, MANIFEST_FILE, Manifest, RequestedAccess};
