//! Keys, signatures, and manifests of components that were built elsewhere.

use std::{fs, io::Write, path::Path};

use adapter_component::{
    COMPONENT_BYTES, InvalidComponent, facts,
    signature::{self, Signer, SigningKey},
};
use base64::{Engine, prelude::BASE64_STANDARD};

use crate::{KitError, Manifest, component::pack, files};

/// Columns of a PEM file.
const COLUMNS: usize = 64;

/// Writes a private key to a new file readable only by this user. Returns the public key.
pub fn new_key(file: &Path) -> Result<Signer, KitError> {
    let wrong = |error: signature::KeyError| KitError::Key { path: file.to_path_buf(), reason: error.to_string() };
    let text = BASE64_STANDARD.encode(SigningKey::generate().map_err(wrong)?);
    let lines: Vec<&str> =
        text.as_bytes().chunks(COLUMNS).map(|line| std::str::from_utf8(line).unwrap_or_default()).collect();
    let pem = format!("-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n", lines.join("\n"));
    let mut options = fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let written = options.open(file).and_then(|mut file| file.write_all(pem.as_bytes()));
    written.map_err(KitError::at(file))?;
    Ok(SigningKey::from_pem(pem.as_bytes()).map_err(wrong)?.signer())
}

/// Signs a component in place. Returns the signer.
pub fn sign(component: &Path, key: &Path) -> Result<Signer, KitError> {
    let wrong = |error: signature::KeyError| KitError::Key { path: key.to_path_buf(), reason: error.to_string() };
    let key = SigningKey::from_pem(&files::read(key)?).map_err(wrong)?;
    let bytes = files::read_at_most(component, COMPONENT_BYTES)?;
    let signed = facts(&bytes).and_then(|facts| facts.manifest()).and_then(|_| key.sign(&bytes));
    files::write_atomic(component, &signed.map_err(not_an_adapter(component))?)?;
    Ok(key.signer())
}

/// Returns the signer of a component with a valid signature.
pub fn verify(component: &Path) -> Result<Signer, KitError> {
    let bytes = files::read_at_most(component, COMPONENT_BYTES)?;
    let signer = signature::signer(&bytes).and_then(|signer| signer.ok_or(InvalidComponent::NotSigned));
    signer.map_err(not_an_adapter(component))
}

/// Embeds a manifest in a component of any language. Returns the component's size and SHA-256.
pub fn pack_file(component: &Path, manifest: &Path, out: &Path) -> Result<(u64, String), KitError> {
    let read = Manifest::parse(&files::read_text(manifest)?);
    let manifest = read.map_err(|reason| KitError::Manifest { path: manifest.to_path_buf(), reason })?;
    let bytes = files::read_at_most(component, COMPONENT_BYTES)?;
    let packed = pack(&bytes, &manifest);
    let packed = packed.map_err(|reason| KitError::NotAnAdapter { path: component.to_path_buf(), reason })?;
    files::write_atomic(out, &packed)?;
    Ok((packed.len() as u64, files::sha256(&packed)))
}

/// Formats the public key for the configuration: base64.
pub fn public_key(signer: Signer) -> String {
    BASE64_STANDARD.encode(signer.0)
}

fn not_an_adapter(path: &Path) -> impl FnOnce(InvalidComponent) -> KitError {
    let path = path.to_path_buf();
    move |unfit| KitError::NotAnAdapter { path, reason: unfit.to_string() }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_component_is_packed_signed_and_verified() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        fs::write(at("empty.wasm"), b"\0asm\x0d\0\x01\0").unwrap();
        fs::write(at("adapter.toml"), "id = \"a\"\nname = \"A\"\nversion = \"1\"\ncontract = 1\npaths = [\"/\"]\n")
            .unwrap();
        assert!(sign(&at("empty.wasm"), &at("key.pem")).unwrap_err().to_string().contains("key.pem"));
        let signer = new_key(&at("key.pem")).unwrap();
        assert!(new_key(&at("key.pem")).is_err(), "a key is never overwritten");
        let unsigned = sign(&at("empty.wasm"), &at("key.pem")).unwrap_err().to_string();
        assert!(unsigned.contains("it carries no manifest"), "{unsigned}");
        pack_file(&at("empty.wasm"), &at("adapter.toml"), &at("a.wasm")).unwrap();
        assert!(verify(&at("a.wasm")).unwrap_err().to_string().contains("it is not signed"));
        assert_eq!(sign(&at("a.wasm"), &at("key.pem")).unwrap(), signer);
        assert_eq!(verify(&at("a.wasm")).unwrap(), signer);
        // Another manifest makes another component, which is not signed.
        pack_file(&at("a.wasm"), &at("adapter.toml"), &at("a.wasm")).unwrap();
        assert!(verify(&at("a.wasm")).is_err());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(at("key.pem")).unwrap().permissions().mode() & 0o777, 0o600);
        }
        assert_eq!(public_key(signer).len(), 44);
    }
}
