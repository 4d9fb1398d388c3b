//! The component: made of a core module, carrying its manifest, checked without running it.

use std::path::Path;

use wasmparser::{Encoding, Parser, Payload, Validator, WasmFeatures};

use crate::{KitError, Manifest, files};

/// The WIT package of the contract.
pub const CONTRACT_PACKAGE: &str = "practice-sync:ehr";
/// The custom section that holds the manifest as JSON.
pub const MANIFEST_SECTION: &str = "practice-sync:manifest";

/// What a component is and needs, read without running it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    pub manifest: Option<Manifest>,
    /// Version of the contract it exports, for example `1.0.0`.
    pub contract: String,
    pub imports: Vec<String>,
    pub exports: Vec<String>,
    pub bytes: u64,
    pub sha256: String,
}

/// Makes a component of a core module that was built against the SDK.
pub fn encode(module: &[u8]) -> Result<Vec<u8>, String> {
    let mut encoder = wit_component::ComponentEncoder::default();
    encoder.module(module).map_err(|e| format!("{e:#}"))?;
    encoder.validate(true).encode().map_err(|e| format!("{e:#}"))
}

/// Puts the manifest into a component, instead of one it already holds. For components built without [`crate::build`], too.
pub fn pack(component: &[u8], manifest: &Manifest) -> Result<Vec<u8>, String> {
    let mut packed = without_manifest(component)?;
    let content = serde_json::to_vec(manifest).map_err(|e| e.to_string())?;
    let mut section = Vec::new();
    leb128(&mut section, MANIFEST_SECTION.len());
    section.extend_from_slice(MANIFEST_SECTION.as_bytes());
    section.extend_from_slice(&content);
    packed.push(0);
    leb128(&mut packed, section.len());
    packed.extend_from_slice(&section);
    Ok(packed)
}

/// Validates a component and reads what it is. Errors where it is no adapter.
pub fn check(path: &Path) -> Result<Report, KitError> {
    inspect(&files::read(path)?).map_err(|reason| KitError::NotAnAdapter { path: path.to_path_buf(), reason })
}

fn inspect(bytes: &[u8]) -> Result<Report, String> {
    Validator::new_with_features(WasmFeatures::default()).validate_all(bytes).map_err(|e| e.to_string())?;
    let (mut imports, mut exports, mut manifest) = (Vec::new(), Vec::new(), None);
    for payload in outer(bytes)? {
        match payload {
            Payload::ComponentImportSection(section) => {
                for import in section {
                    imports.push(import.map_err(|e| e.to_string())?.name.name.to_string());
                }
            }
            Payload::ComponentExportSection(section) => {
                for export in section {
                    exports.push(export.map_err(|e| e.to_string())?.name.name.to_string());
                }
            }
            Payload::CustomSection(section) if section.name() == MANIFEST_SECTION => {
                manifest = Some(serde_json::from_slice(section.data()).map_err(|e| format!("its manifest: {e}"))?);
            }
            _ => {}
        }
    }
    let interface = format!("{CONTRACT_PACKAGE}/ehr@");
    let contract = exports
        .iter()
        .find_map(|name| name.strip_prefix(&interface))
        .ok_or_else(|| format!("it does not export {interface}N"))?
        .to_string();
    Ok(Report { manifest, contract, imports, exports, bytes: bytes.len() as u64, sha256: files::sha256(bytes) })
}

/// The payloads of the component itself, not those of the modules and components inside it.
fn outer(bytes: &[u8]) -> Result<Vec<Payload<'_>>, String> {
    let mut depth = 0;
    let mut payloads = Vec::new();
    for payload in Parser::new(0).parse_all(bytes) {
        let payload = payload.map_err(|e| e.to_string())?;
        match &payload {
            Payload::Version { encoding, .. } => {
                depth += 1;
                if depth == 1 && *encoding != Encoding::Component {
                    return Err("a core module, not a component".into());
                }
            }
            Payload::End(_) => depth -= 1,
            _ if depth == 1 => payloads.push(payload),
            _ => {}
        }
    }
    Ok(payloads)
}

fn without_manifest(component: &[u8]) -> Result<Vec<u8>, String> {
    let mut kept = component.to_vec();
    let held = outer(component)?.into_iter().find_map(|payload| match payload {
        Payload::CustomSection(section) if section.name() == MANIFEST_SECTION => Some(section.range()),
        _ => None,
    });
    if let Some(content) = held {
        let (from, to) = (content.start as usize, content.end as usize);
        // The range is the section's content; its id byte and its size, as many bytes as the size takes, lie before it.
        let mut head = vec![0];
        leb128(&mut head, to - from);
        let start = from - head.len();
        if component[start..from] != head {
            return Err("its manifest section has an unusual form".into());
        }
        kept.drain(start..to);
    }
    Ok(kept)
}

fn leb128(out: &mut Vec<u8>, mut value: usize) {
    loop {
        let byte = (value & 0x7f) as u8;
        value >>= 7;
        if value == 0 {
            out.push(byte);
            return;
        }
        out.push(byte | 0x80);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    /// An empty component.
    const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

    fn manifest(name: &str) -> Manifest {
        let text = format!("id = \"a\"\nname = \"{name}\"\nversion = \"1\"\ncontract = 1\npaths = [\"/\"]\n");
        Manifest::parse(&text).unwrap()
    }

    #[test]
    fn a_manifest_is_packed_once_and_replaced() {
        let once = pack(EMPTY, &manifest(&"n".repeat(90))).unwrap();
        let again = pack(&once, &manifest("other")).unwrap();
        assert_eq!(again, pack(EMPTY, &manifest("other")).unwrap());
        assert_eq!(without_manifest(&once).unwrap(), EMPTY);
    }

    #[test]
    fn what_is_no_adapter_is_said_plainly() {
        assert!(inspect(b"hello").is_err());
        assert!(inspect(b"\0asm\x01\0\0\0").unwrap_err().contains("a core module"));
        assert!(inspect(EMPTY).unwrap_err().contains("does not export practice-sync:ehr/ehr@N"));
    }
}
