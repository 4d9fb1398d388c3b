//! Components: creation from a core module, the embedded manifest, and checks without running them.

use std::path::Path;

use adapter_component::{
    COMPONENT_BYTES, Facts, InvalidComponent, MANIFEST_SECTION, facts, sections,
    signature::{self, SIGNATURE_SECTION, Signer},
};
use wasmparser::{Validator, WasmFeatures};

use crate::{KitError, Manifest, files};

/// The properties of a component, read without running it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    pub manifest: Result<Manifest, InvalidComponent>,
    /// Version of the exported contract, for example `1.0.0`.
    pub contract: Option<String>,
    pub imports: Vec<String>,
    pub exports: Vec<String>,
    pub bytes: u64,
    pub sha256: String,
    /// Signer of a valid signature.
    pub signer: Result<Option<Signer>, InvalidComponent>,
}

/// Converts a core module that was built with the SDK into a component.
pub fn encode(module: &[u8]) -> Result<Vec<u8>, String> {
    let encoder = wit_component::ComponentEncoder::default().module(module).map_err(|e| format!("{e:#}"))?;
    encoder.validate(true).encode().map_err(|e| format!("{e:#}"))
}

/// Embeds the manifest in a component, replacing an earlier one. A signature is removed, because it would be invalid.
/// Also for components built without [`crate::build`].
pub fn pack(component: &[u8], manifest: &Manifest) -> Result<Vec<u8>, String> {
    let unsigned = sections::without(component, SIGNATURE_SECTION).map_err(|unfit| unfit.to_string())?;
    let mut packed = sections::without(&unsigned, MANIFEST_SECTION).map_err(|unfit| unfit.to_string())?;
    let content = serde_json::to_vec(manifest).map_err(|e| e.to_string())?;
    sections::append(&mut packed, MANIFEST_SECTION, &content);
    Ok(packed)
}

/// Validates a component and reads its properties. Returns an error if the file is not a component; the engine decides
/// whether it accepts the component.
pub fn check(path: &Path) -> Result<Report, KitError> {
    let bytes = files::read_at_most(path, COMPONENT_BYTES)?;
    inspect(&bytes).map_err(|reason| KitError::NotAnAdapter { path: path.to_path_buf(), reason })
}

fn inspect(bytes: &[u8]) -> Result<Report, String> {
    let facts = facts(bytes).map_err(|unfit| unfit.to_string())?;
    Validator::new_with_features(WasmFeatures::default()).validate_all(bytes).map_err(|e| e.to_string())?;
    let (contract, manifest) = (facts.contract().map(str::to_owned), facts.manifest());
    let Facts { imports, exports, .. } = facts;
    let (sha256, signer) = (files::sha256(bytes), signature::signer(bytes));
    Ok(Report { manifest, contract, imports, exports, bytes: bytes.len() as u64, sha256, signer })
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
        assert_eq!(sections::without(&once, MANIFEST_SECTION).unwrap(), EMPTY);
    }

    #[test]
    fn errors_of_other_files_are_clear() {
        assert!(inspect(b"hello").is_err());
        assert!(inspect(b"\0asm\x01\0\0\0").unwrap_err().contains("a core module"));
        assert_eq!(inspect(EMPTY).unwrap().contract, None);
        let verdict = adapter_component::verdict(EMPTY).unwrap_err().to_string();
        assert!(verdict.contains("does not export practice-sync:ehr/ehr"), "{verdict}");
    }
}
