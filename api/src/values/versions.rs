//! Versions of the API (specification 9). Which routes a version has is said in the table of routes; one that is not redefined in
//! v3.1.0 behaves there as in v3.0.0.

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Version {
    V2_2_2,
    V3_0_0,
    V3_1_0,
}

impl Version {
    /// With their aliases.
    pub(crate) const NAMES: &[(&str, Version)] = &[
        ("v2.2.2", Version::V2_2_2),
        ("v2", Version::V2_2_2),
        ("v3.0.0", Version::V3_0_0),
        ("v20240412", Version::V3_0_0),
        ("v3.1.0", Version::V3_1_0),
    ];

    pub(crate) fn named(name: &str) -> Option<Version> {
        Version::NAMES.iter().find(|(known, _)| *known == name).map(|(_, version)| *version)
    }

    /// One that something was kept under; a version that is no more goes on as the stable one.
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

    /// v2.2.2 has pages by number, and records of an older shape.
    pub fn is_v2(self) -> bool {
        self == Version::V2_2_2
    }
}
