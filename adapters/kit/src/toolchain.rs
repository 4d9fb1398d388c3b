//! A Rust toolchain that builds `wasm32-unknown-unknown`.

use std::{env, fmt, path::PathBuf, process::Command};

pub const TARGET: &str = "wasm32-unknown-unknown";

pub(crate) const DEBIAN_RUSTC: &str = "/usr/bin/rustc";

/// A way to build for the sandbox.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Toolchain {
    /// The target's standard library was already installed.
    Installed,
    /// rustup fetched it.
    Rustup,
    /// The standard library is built from Debian's source package.
    Debian { linker: PathBuf },
}

impl fmt::Display for Toolchain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Toolchain::Installed => write!(f, "the installed target {TARGET}"),
            Toolchain::Rustup => write!(f, "the target {TARGET} added by rustup"),
            Toolchain::Debian { linker } => {
                write!(f, "Debian's {DEBIAN_RUSTC}, its standard library from source, {}", linker.display())
            }
        }
    }
}

impl Toolchain {
    /// Returns `cargo` with the environment of this toolchain.
    pub fn cargo(&self) -> Command {
        let mut cargo = cargo();
        if let Toolchain::Debian { linker } = self {
            cargo.env("RUSTC", DEBIAN_RUSTC).env("RUSTC_BOOTSTRAP", "1");
            cargo.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
        }
        cargo
    }

    /// Returns additional arguments of `cargo build`.
    pub fn arguments(&self) -> &'static [&'static str] {
        match self {
            Toolchain::Debian { .. } => &["-Zbuild-std=std,panic_abort"],
            Toolchain::Installed | Toolchain::Rustup => &[],
        }
    }
}

/// Returns `cargo` without variables set by an enclosing cargo or for the user's native builds.
pub fn cargo() -> Command {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for inherited in [
        "RUSTFLAGS",
        "CARGO_ENCODED_RUSTFLAGS",
        "RUSTC_BOOTSTRAP",
        "RUSTC_WRAPPER",
        "RUSTC_WORKSPACE_WRAPPER",
        "CARGO_BUILD_TARGET",
    ] {
        cargo.env_remove(inherited);
    }
    cargo
}
