//! Tools for an adapter's author and operator: [`scaffold`] creates a crate or an npm package, [`build`] compiles it
//! into a component with its manifest inside, [`check`] inspects a component. The crate depends on files, the Rust
//! toolchain and npm, not on the engine.

mod build;
mod build_output;
mod cargo;
mod command;
mod component;
mod error;
mod files;
mod find;
mod npm;
mod profile;
mod progress;
mod scaffold;
mod sign;
mod stamp;
mod toolchain;
mod vendor;

pub use adapter_component::{
    CONTRACT_PACKAGE, InvalidComponent, MANIFEST_FILE, MANIFEST_SECTION, Manifest, signature::Signer,
};
pub use build::{Built, build};
pub use component::{Report, check, encode, pack};
pub use error::KitError;
pub use find::TOOLCHAIN_VARIABLE;
pub use profile::Profile;
pub use progress::Progress;
pub use scaffold::{Start, scaffold, scaffold_javascript};
pub use sign::{new_key, pack_file, public_key, sign, verify};
pub use toolchain::Toolchain;
