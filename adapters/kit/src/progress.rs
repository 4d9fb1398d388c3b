//! Progress messages of long operations.

use std::{fmt, path::Path};

use crate::toolchain::Toolchain;

/// The current step of a build.
#[derive(Clone, Copy, Debug)]
pub enum Progress<'a> {
    /// Nothing changed since the last build.
    UpToDate(&'a Path),
    /// Packages are being installed with apt.
    Installing(&'a [&'a str]),
    Toolchain(&'a Toolchain),
    /// A tool was started.
    Running(&'a str),
    /// A line of a tool's output.
    Line(&'a str),
    /// The component was written.
    Wrote(&'a Path),
}

impl fmt::Display for Progress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Progress::UpToDate(path) => write!(f, "{} is up to date", path.display()),
            Progress::Installing(packages) => write!(f, "installing Debian packages: {}", packages.join(", ")),
            Progress::Toolchain(toolchain) => write!(f, "using {toolchain}"),
            Progress::Running(command) => write!(f, "running {command}"),
            Progress::Line(line) => f.write_str(line),
            Progress::Wrote(path) => write!(f, "wrote {}", path.display()),
        }
    }
}
