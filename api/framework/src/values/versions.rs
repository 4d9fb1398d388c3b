//! Versions of the API (specification 9). The table of routes lists the routes of each version. A route that v3.1.0
//! does not redefine behaves as in v3.0.0.

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    V2_2_2,
    V3_0_0,
    V3_1_0,
}

impl Version {
    /// Names with their aliases.
    pub const NAMES: &[(&str, Version)] = &[
        ("v2.2.2", Version::V2_2_2),
        ("v2", Version::V2_2_2),
        ("v3.0.0", Version::V3_0_0),
        ("v20240412", Version::V3_0_0),
        ("v3.1.0", Version::V3_1_0),
    ];

    pub fn named(name: &str) -> Option<Version> {
        Version::NAMES.iter().find(|(known, _)| *known == name).map(|(_, version)| *version)
    }

    /// Parses a version of the configuration.
    pub fn parse(text: &str) -> Result<Version, String> {
        Version::named(text).ok_or_else(|| "must be \"v2.2.2\", \"v3.0.0\" or \"v3.1.0\"".to_owned())
    }

    /// Parses a stored version; a removed version becomes the stable one.
    pub fn stored(name: &str) -> Version {
        Version::named(name).unwrap_or(Version::V3_0_0)
    }

    pub fn name(self) -> &'static str {
        match self {
            Version::V2_2_2 => "v2.2.2",
            Version::V3_0_0 => "v3.0.0",
            Version::V3_1_0 => "v3.1.0",
        }
    }

    /// Returns whether lists have numbered pages and records the older form.
    pub fn is_v2(self) -> bool {
        self == Version::V2_2_2
    }
}
