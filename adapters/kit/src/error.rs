//! Errors of an adapter's crate, its toolchain or its component.

use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum KitError {
    #[error("{}: {source}", path.display())]
    Io { path: PathBuf, source: std::io::Error },
    #[error("{}: {reason}", path.display())]
    Manifest { path: PathBuf, reason: String },
    #[error("{} holds no adapter, neither a crate nor a package of npm: {reason}", dir.display())]
    NoCrate { dir: PathBuf, reason: String },
    #[error("{variable} is `{value}`; it may be `installed`, `rustup` or `debian`")]
    UnknownToolchain { variable: &'static str, value: String },
    #[error(
        "no Rust toolchain here can build wasm32-unknown-unknown ({}). Remedies: `rustup target add wasm32-unknown-unknown`; or on Debian, as root, \
         `apt-get install rustc-web rust-web-src lld-19`; or build the adapter elsewhere and copy the .wasm file",
        tried.join("; ")
    )]
    NoToolchain { tried: Vec<String> },
    #[error("`{command}` could not be started: {source}")]
    Start { command: String, source: std::io::Error },
    #[error("`{command}` failed ({status}):\n{output}")]
    Failed { command: String, status: std::process::ExitStatus, output: String },
    #[error("npm is not on the path: an adapter in JavaScript is built with Node.js 20 and its npm")]
    NoNpm,
    #[error("{}: a program that the script `{script}` of package.json runs is not installed; run `npm ci` there first", dir.display())]
    NotInstalled { dir: PathBuf, script: &'static str },
    #[error("`{command}` built no wasm library: the crate needs a `src/lib.rs`")]
    NoLibrary { command: String },
    #[error("{}: not an adapter component: {reason}", path.display())]
    NotAnAdapter { path: PathBuf, reason: String },
    #[error("{}: {reason}", path.display())]
    Key { path: PathBuf, reason: String },
    #[error("{} exists and is not empty", .0.display())]
    NotEmpty(PathBuf),
}

impl KitError {
    /// Returns the error without the tool's output, for a reader who has already seen the output.
    pub fn without_output(&self) -> String {
        match self {
            KitError::Failed { command, status, .. } => format!("`{command}` failed ({status}); see above"),
            other => other.to_string(),
        }
    }

    /// Adds the path to an I/O error.
    pub(crate) fn at(path: &Path) -> impl FnOnce(std::io::Error) -> KitError {
        let path = path.to_path_buf();
        move |source| KitError::Io { path, source }
    }
}
