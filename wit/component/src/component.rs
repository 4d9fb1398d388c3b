//! Inspection of a component from outside: imports, exports, size and manifest.

use wasmparser::{Encoding, Parser, Payload};

use crate::Manifest;

/// The WIT package of the contract and its current version.
pub const CONTRACT_PACKAGE: &str = "practice-sync:ehr";
pub const CONTRACT_VERSION: &str = "1.0.0";
/// The custom section with the manifest as JSON.
pub const MANIFEST_SECTION: &str = "practice-sync:manifest";

/// Maximum size of a component file. The largest interpreter measured has 18 MiB.
pub const COMPONENT_BYTES: u64 = 64 << 20;
/// Maximum functions of a component, because each takes compile time. The interpreters measured have about 30,000.
const FUNCTIONS: u32 = 100_000;
/// Maximum size of a function body. The main loop of an interpreter has about 100 KiB.
const FUNCTION_BYTES: usize = 1 << 20;

/// Why a component is not an adapter for this engine.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidComponent {
    #[error("larger than {0} bytes")]
    TooLarge(u64),
    #[error("not a component: {0}")]
    NotAComponent(String),
    #[error("not an adapter: it does not export {CONTRACT_PACKAGE}/ehr")]
    NoContract,
    #[error("it carries no manifest: build it with `practice-sync adapter build`")]
    NoManifest,
    #[error("it carries {0} manifests")]
    Manifests(usize),
    #[error("its manifest is not understood: {0}")]
    Manifest(String),
    #[error("built for {built_for}, this engine offers {CONTRACT_PACKAGE}@{CONTRACT_VERSION}")]
    OtherContract { built_for: String },
    #[error(
        "it imports {0}, which this engine does not offer: adapters are built for wasm32-unknown-unknown, without WASI"
    )]
    ForeignImport(String),
    #[error("it has more than {FUNCTIONS} functions")]
    TooManyFunctions,
    #[error("one of its functions has more than {FUNCTION_BYTES} bytes")]
    LargeFunction,
    #[error("its signature is not valid: it was changed after it was signed")]
    Signature,
    #[error("it is signed by a key that is not one of `guests.signers`")]
    ForeignSigner,
    #[error("it is not signed, and `guests.signers` asks for it: use `practice-sync adapter sign`")]
    NotSigned,
}

/// The properties of a component.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    pub imports: Vec<String>,
    pub exports: Vec<String>,
    /// The contents of its manifest sections.
    pub manifests: Vec<Vec<u8>>,
    pub functions: u32,
    largest_function: usize,
    bytes: u64,
}

/// Reads the properties of a component; unknown parts are ignored.
pub fn facts(component: &[u8]) -> Result<Facts, InvalidComponent> {
    let (imports, exports, manifests) = (Vec::new(), Vec::new(), Vec::new());
    let bytes = component.len() as u64;
    let mut facts = Facts { imports, exports, manifests, functions: 0, largest_function: 0, bytes };
    for (depth, payload) in payloads(component) {
        match payload? {
            Payload::CodeSectionStart { count, .. } => facts.functions = facts.functions.saturating_add(count),
            Payload::CodeSectionEntry(body) => {
                facts.largest_function = facts.largest_function.max(body.as_bytes().len());
            }
            Payload::ComponentImportSection(section) if depth == 1 => {
                for import in section {
                    facts.imports.push(import.map_err(malformed)?.name.name.to_string());
                }
            }
            Payload::ComponentExportSection(section) if depth == 1 => {
                for export in section {
                    facts.exports.push(export.map_err(malformed)?.name.name.to_string());
                }
            }
            Payload::CustomSection(section) if depth == 1 && section.name() == MANIFEST_SECTION => {
                facts.manifests.push(section.data().to_vec());
            }
            _ => {}
        }
    }
    Ok(facts)
}

/// Returns the manifest if all checks from outside pass for this engine.
pub fn verdict(component: &[u8]) -> Result<Manifest, InvalidComponent> {
    if component.len() as u64 > COMPONENT_BYTES {
        return Err(InvalidComponent::TooLarge(COMPONENT_BYTES));
    }
    facts(component)?.verdict()
}

impl Facts {
    /// Returns the version of the exported contract, for example `1.0.0`.
    pub fn contract(&self) -> Option<&str> {
        self.exports.iter().find_map(|name| name.strip_prefix(CONTRACT_PACKAGE)?.strip_prefix("/ehr@"))
    }

    /// Parses the manifest without checking its values.
    pub fn manifest(&self) -> Result<Manifest, InvalidComponent> {
        match self.manifests.as_slice() {
            [] => Err(InvalidComponent::NoManifest),
            [one] => serde_json::from_slice(one).map_err(|error| InvalidComponent::Manifest(error.to_string())),
            // The effective manifest would be ambiguous.
            several => Err(InvalidComponent::Manifests(several.len())),
        }
    }

    pub fn verdict(&self) -> Result<Manifest, InvalidComponent> {
        if self.bytes > COMPONENT_BYTES {
            return Err(InvalidComponent::TooLarge(COMPONENT_BYTES));
        }
        for import in &self.imports {
            let ours = import.strip_prefix(CONTRACT_PACKAGE).and_then(|rest| rest.strip_prefix('/'));
            let ours = ours.ok_or_else(|| InvalidComponent::ForeignImport(import.clone()))?;
            same_major(ours.split_once('@').map_or("", |(_, version)| version))?;
        }
        same_major(self.contract().ok_or(InvalidComponent::NoContract)?)?;
        if self.functions > FUNCTIONS {
            return Err(InvalidComponent::TooManyFunctions);
        }
        if self.largest_function > FUNCTION_BYTES {
            return Err(InvalidComponent::LargeFunction);
        }
        let manifest = self.manifest()?;
        match manifest.problems() {
            problems if problems.is_empty() => Ok(manifest),
            problems => Err(InvalidComponent::Manifest(problems.join("; "))),
        }
    }
}

fn same_major(version: &str) -> Result<(), InvalidComponent> {
    let major = |version: &str| version.split('.').next().map(str::to_string);
    if major(version) == major(CONTRACT_VERSION) && !version.contains('-') {
        return Ok(());
    }
    Err(InvalidComponent::OtherContract { built_for: format!("{CONTRACT_PACKAGE}@{version}") })
}

/// Returns the payloads of the component itself, not those of nested modules and components.
pub fn outer(component: &[u8]) -> Result<Vec<Payload<'_>>, InvalidComponent> {
    let all = payloads(component).map(|(depth, payload)| payload.map(|payload| (depth, payload)));
    let outer = all.filter_map(|item| match item {
        Ok((1, payload)) => Some(Ok(payload)),
        Ok(_) => None,
        Err(unfit) => Some(Err(unfit)),
    });
    outer.collect()
}

/// Returns all payloads with their nesting depth; 1 is the component itself.
fn payloads(component: &[u8]) -> impl Iterator<Item = (u32, Result<Payload<'_>, InvalidComponent>)> {
    let mut depth = 0_u32;
    Parser::new(0).parse_all(component).map(move |payload| {
        let payload = payload.map_err(malformed).and_then(|payload| match &payload {
            Payload::Version { encoding, .. } => {
                depth += 1;
                match depth == 1 && *encoding != Encoding::Component {
                    true => Err(InvalidComponent::NotAComponent("it is a core module".into())),
                    false => Ok(payload),
                }
            }
            _ => Ok(payload),
        });
        let at = depth;
        if matches!(payload, Ok(Payload::End(_))) {
            depth = depth.saturating_sub(1);
        }
        (at, payload)
    })
}

fn malformed(error: wasmparser::BinaryReaderError) -> InvalidComponent {
    InvalidComponent::NotAComponent(error.to_string())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn number(mut value: usize, out: &mut Vec<u8>) {
        while value >= 0x80 {
            out.push(value as u8 | 0x80);
            value >>= 7;
        }
        out.push(value as u8);
    }

    fn section(id: u8, content: &[u8], out: &mut Vec<u8>) {
        out.push(id);
        number(content.len(), out);
        out.extend_from_slice(content);
    }

    /// Returns a component that exports the contract, around a module with `functions` functions of `bytes` bytes each.
    fn component(functions: usize, bytes: usize) -> Facts {
        let (mut types, mut code) = (Vec::new(), Vec::new());
        number(functions, &mut types);
        types.resize(types.len() + functions, 0);
        number(functions, &mut code);
        for _ in 0..functions {
            number(bytes, &mut code);
            // No locals, and only the end instruction.
            code.push(0);
            code.resize(code.len() + bytes - 2, 0x01);
            code.push(0x0b);
        }
        let mut module = b"\0asm\x01\0\0\0".to_vec();
        section(1, &[1, 0x60, 0, 0], &mut module);
        section(3, &types, &mut module);
        section(10, &code, &mut module);
        let mut component = b"\0asm\x0d\0\x01\0".to_vec();
        section(1, &module, &mut component);
        let exports = vec![format!("{CONTRACT_PACKAGE}/ehr@{CONTRACT_VERSION}")];
        Facts { exports, ..facts(&component).unwrap() }
    }

    #[test]
    fn components_too_large_to_compile_quickly_are_refused() {
        let most = FUNCTIONS as usize;
        assert_eq!(component(most, 2).verdict(), Err(InvalidComponent::NoManifest), "as many as there may be");
        assert_eq!(component(most + 1, 2).verdict(), Err(InvalidComponent::TooManyFunctions));
        assert_eq!(component(1, FUNCTION_BYTES).verdict(), Err(InvalidComponent::NoManifest));
        assert_eq!(component(2, FUNCTION_BYTES + 1).verdict(), Err(InvalidComponent::LargeFunction));
        let large = vec![0; COMPONENT_BYTES as usize + 1];
        assert_eq!(verdict(&large), Err(InvalidComponent::TooLarge(COMPONENT_BYTES)));
    }
}
