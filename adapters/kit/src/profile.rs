//! Compiler settings of adapters, independent of the profiles of their own crates.

/// A set of compiler settings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// For production and benchmarks: speed over size, since a component is compiled once and cached.
    Release,
    /// For tests and trials: compiles in a fraction of the time and behaves the same.
    Quick,
}

impl Profile {
    /// [`Profile::Quick`] in a program that was itself compiled for tests and trials, otherwise [`Profile::Release`].
    pub fn like_this_build() -> Profile {
        if cfg!(debug_assertions) { Profile::Quick } else { Profile::Release }
    }

    /// cargo's profile that the settings change. Each has its own folder, so that neither build discards the other's
    /// files.
    pub(crate) fn base(self) -> &'static str {
        match self {
            Profile::Release => "release",
            Profile::Quick => "dev",
        }
    }

    pub(crate) fn settings(self) -> &'static [&'static str] {
        match self {
            Profile::Release => &[
                "opt-level=3", "lto=\"thin\"", "codegen-units=1", "panic=\"abort\"", "debug=false",
                "strip=\"debuginfo\"",
            ],
            Profile::Quick => &[
                "opt-level=1", "codegen-units=16", "panic=\"abort\"", "debug=false", "strip=\"debuginfo\"",
                "debug-assertions=false", "overflow-checks=false", "incremental=false",
            ],
        }
    }
}
