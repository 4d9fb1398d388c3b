//! Who an adapter is and what it asks for, as its component carries it: a custom section that `practice-sync adapter build` wrote.

use std::time::Duration;

use serde::Deserialize;
use wasmparser::{Encoding, Parser, Payload};

use super::{
    LoadError,
    limits::{GuestLimits, MIB},
};

/// The WIT package of the contract, and the version this engine offers.
pub const CONTRACT_PACKAGE: &str = "practice-sync:ehr";
pub const CONTRACT_VERSION: &str = "1.0.0";
/// What every adapter exports.
pub const EHR_INTERFACE: &str = "practice-sync:ehr/ehr@1.0.0";
/// What a guest sets only where its manifest asks for it: with it, it is somebody else to the EHR.
pub const IDENTITY_HEADERS: [&str; 2] = ["authorization", "cookie"];
const SECTION: &str = "practice-sync:manifest";

#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    pub id: String,
    pub name: String,
    pub version: String,
    /// Major version of the contract.
    pub contract: u32,
    /// Prefixes of the paths it may request.
    pub paths: Vec<String>,
    /// Headers that say who somebody is, in lower case, which it may set itself.
    #[serde(default)]
    pub headers: Vec<String>,
    pub memory_mib: u32,
    pub call_seconds: u32,
    pub requests_per_call: u32,
    #[serde(default)]
    pub requests_per_minute: Option<u32>,
}

/// What an adapter asks to be let through.
#[derive(Clone, Copy, Debug)]
pub struct Asks<'a> {
    pub paths: &'a [String],
    pub headers: &'a [String],
}

impl Manifest {
    /// Reads the manifest, and checks without compiling that the component speaks this engine's contract.
    pub fn of_component(component: &[u8]) -> Result<Manifest, LoadError> {
        let mut found = None;
        let mut offered = None;
        for payload in outer(component)? {
            match payload {
                Payload::CustomSection(section) if section.name() == SECTION => {
                    found = Some(
                        serde_json::from_slice::<Manifest>(section.data())
                            .map_err(|e| LoadError::Manifest(e.to_string()))?,
                    );
                }
                Payload::ComponentImportSection(section) => {
                    for import in section {
                        known_import(import.map_err(malformed)?.name.name)?;
                    }
                }
                Payload::ComponentExportSection(section) => {
                    for export in section {
                        let name = export.map_err(malformed)?.name.name;
                        offered =
                            name.strip_prefix(CONTRACT_PACKAGE).and_then(|rest| rest.strip_prefix("/ehr@")).or(offered);
                    }
                }
                _ => {}
            }
        }
        same_major(offered.ok_or(LoadError::NoContract)?)?;
        let manifest = found.ok_or(LoadError::NoManifest)?;
        manifest.validate()?;
        Ok(manifest)
    }

    /// The engine does not rely on the tool that wrote it.
    fn validate(&self) -> Result<(), LoadError> {
        let id_fits = (1..=40).contains(&self.id.len())
            && self.id.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
        let fits = id_fits
            && self.name.len() <= 100
            && self.version.len() <= 40
            && (1..=50).contains(&self.paths.len())
            && self.paths.iter().all(|path| path.starts_with('/') && path.len() <= 200)
            && self.headers.iter().all(|name| IDENTITY_HEADERS.contains(&name.as_str()))
            && self.memory_mib > 0
            && self.call_seconds > 0
            && self.requests_per_call > 0;
        if fits { Ok(()) } else { Err(LoadError::Manifest("a value is out of range".into())) }
    }

    pub fn asks(&self) -> Asks<'_> {
        Asks { paths: &self.paths, headers: &self.headers }
    }

    /// What both the operator grants and the adapter asks for.
    pub fn narrow(&self, granted: &GuestLimits) -> GuestLimits {
        GuestLimits {
            memory: granted.memory.min(self.memory_mib as usize * MIB),
            call: granted.call.min(Duration::from_secs(self.call_seconds.into())),
            requests: granted.requests.min(self.requests_per_call),
            ..*granted
        }
    }
}

fn known_import(name: &str) -> Result<(), LoadError> {
    let Some(rest) = name.strip_prefix(CONTRACT_PACKAGE).and_then(|rest| rest.strip_prefix('/')) else {
        return Err(LoadError::ForeignImport(name.to_string()));
    };
    same_major(rest.split_once('@').map_or("", |(_, version)| version))
}

fn same_major(version: &str) -> Result<(), LoadError> {
    let major = |version: &str| version.split('.').next().map(str::to_string);
    if major(version) == major(CONTRACT_VERSION) && !version.contains('-') {
        return Ok(());
    }
    Err(LoadError::OtherContract { built_for: format!("{CONTRACT_PACKAGE}@{version}") })
}

/// The payloads of the component itself, not those of the modules and components inside it.
fn outer(bytes: &[u8]) -> Result<Vec<Payload<'_>>, LoadError> {
    let mut depth = 0_u32;
    let mut payloads = Vec::new();
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload.map_err(malformed)?;
        match &payload {
            Payload::Version { encoding, .. } => {
                depth += 1;
                if depth == 1 && *encoding != Encoding::Component {
                    return Err(LoadError::NotAComponent("it is a core module".into()));
                }
            }
            Payload::End(_) => depth = depth.saturating_sub(1),
            _ if depth == 1 => payloads.push(payload),
            _ => {}
        }
    }
    Ok(payloads)
}

fn malformed(error: wasmparser::BinaryReaderError) -> LoadError {
    LoadError::NotAComponent(error.to_string())
}
