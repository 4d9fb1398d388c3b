//! What an adapter's author and operator need: [`scaffold`] a crate, [`build`] it into a component with its manifest inside,
//! [`check`] a component. Knows files and the Rust toolchain, not the engine.

mod build;
mod component;
mod error;
mod files;
mod scaffold;
mod stamp;
mod toolchain;

pub use adapter_component::{CONTRACT_PACKAGE, MANIFEST_FILE, MANIFEST_SECTION, Manifest, Unfit};
pub use build::{Built, Progress, build};
pub use component::{Report, check, encode, pack};
pub use error::KitError;
pub use scaffold::{scaffold, sdk_path};
pub use toolchain::{TOOLCHAIN_VARIABLE, Toolchain};
