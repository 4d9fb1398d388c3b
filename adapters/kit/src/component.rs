//! The component: made of a core module, carrying its manifest, checked without running it.

use std::path::Path;

use adapter_component::{COMPONENT_BYTES, Facts, MANIFEST_SECTION, Unfit, facts, outer};
use wasmparser::{Payload, Validator, WasmFeatures};

use crate::{KitError, Manifest, files};

/// What a component is and needs, read without running it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    pub manifest: Result<Manifest, Unfit>,
    /// Version of the contract it exports, for example `1.0.0`.
    pub contract: Option<String>,
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

/// Validates a component and reads what it is. Errors where it is no component; whether an engine takes it, that engine says.
pub fn check(path: &Path) -> Result<Report, KitError> {
    let bytes = files::read_at_most(path, COMPONENT_BYTES)?;
    inspect(&bytes).map_err(|reason| KitError::NotAnAdapter { path: path.to_path_buf(), reason })
}

fn inspect(bytes: &[u8]) -> Result<Report, String> {
    let facts = facts(bytes).map_err(|unfit| unfit.to_string())?;
    Validator::new_with_features(WasmFeatures::default()).validate_all(bytes).map_err(|e| e.to_string())?;
    let (contract, manifest) = (facts.contract().map(str::to_owned), facts.manifest());
    let Facts { imports, exports, .. } = facts;
    Ok(Report { manifest, contract, imports, exports, bytes: bytes.len() as u64, sha256: files::sha256(bytes) })
}

fn without_manifest(component: &[u8]) -> Result<Vec<u8>, String> {
    let mut kept = component.to_vec();
    let payloads = outer(component).map_err(|unfit| unfit.to_string())?;
    let held = payloads.into_iter().find_map(|payload| match payload {
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
        // Another tool may have left more than one.
        return without_manifest(&kept);
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
        assert_eq!(inspect(EMPTY).unwrap().contract, None);
        let verdict = adapter_component::verdict(EMPTY).unwrap_err().to_string();
        assert!(verdict.contains("does not export practice-sync:ehr/ehr"), "{verdict}");
    }
}
