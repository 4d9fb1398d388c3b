//! The signature of a component: Ed25519, in its last section, over every byte before that section.

use ring::{
    rand::SystemRandom,
    signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey},
};
use rustls_pki_types::{PrivatePkcs8KeyDer, pem::PemObject};
use wasmparser::Payload;

use crate::{
    component::{InvalidComponent, outer},
    sections,
};

/// The custom section with the signer's public key and the signature.
pub const SIGNATURE_SECTION: &str = "practice-sync:signature";
/// Prefix of the signed bytes, so that a signature for another purpose is never valid here.
const CONTEXT: &[u8] = b"practice-sync adapter component 1\n";

/// A signer's public key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Signer(pub [u8; 32]);

/// A private key, kept in a file as PKCS #8 in PEM.
pub struct SigningKey(Ed25519KeyPair);

#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    #[error("not a private key of Ed25519 as PKCS #8 in PEM (`-----BEGIN PRIVATE KEY-----`)")]
    NotAKey,
    #[error("the operating system has no randomness")]
    NoRandomness,
}

impl SigningKey {
    /// Generates a key, as DER.
    pub fn generate() -> Result<Vec<u8>, KeyError> {
        let made = Ed25519KeyPair::generate_pkcs8(&SystemRandom::new()).map_err(|_| KeyError::NoRandomness)?;
        Ok(made.as_ref().to_vec())
    }

    /// Parses a key. Keys of OpenSSL are accepted, too, although they do not contain the public key.
    pub fn from_pem(pem: &[u8]) -> Result<SigningKey, KeyError> {
        let key = PrivatePkcs8KeyDer::from_pem_slice(pem).map_err(|_| KeyError::NotAKey)?;
        let key = Ed25519KeyPair::from_pkcs8_maybe_unchecked(key.secret_pkcs8_der()).map_err(|_| KeyError::NotAKey)?;
        Ok(SigningKey(key))
    }

    pub fn signer(&self) -> Signer {
        let mut key = [0; 32];
        key.copy_from_slice(self.0.public_key().as_ref());
        Signer(key)
    }

    /// Signs the component, replacing an earlier signature.
    pub fn sign(&self, component: &[u8]) -> Result<Vec<u8>, InvalidComponent> {
        let mut signed = sections::without(component, SIGNATURE_SECTION)?;
        let signature = self.0.sign(&message(&signed));
        sections::append(&mut signed, SIGNATURE_SECTION, &[self.signer().0.as_slice(), signature.as_ref()].concat());
        Ok(signed)
    }
}

/// Returns the signer of a valid signature, or `None` without a signature. An invalid signature is an error.
pub fn signer(component: &[u8]) -> Result<Option<Signer>, InvalidComponent> {
    let held = outer(component)?.into_iter().find_map(|payload| match payload {
        Payload::CustomSection(section) if section.name() == SIGNATURE_SECTION => Some(section),
        _ => None,
    });
    let Some(section) = held else { return Ok(None) };
    let (signed, content) = (sections::without(component, SIGNATURE_SECTION)?, section.data());
    let (key, signature) = content.split_at_checked(32).ok_or(InvalidComponent::Signature)?;
    // The signature must be the last section and cover all bytes before it.
    let mut whole = signed.clone();
    sections::append(&mut whole, SIGNATURE_SECTION, content);
    if whole != component {
        return Err(InvalidComponent::Signature);
    }
    let valid = UnparsedPublicKey::new(&ED25519, key).verify(&message(&signed), signature);
    valid.map_err(|_| InvalidComponent::Signature)?;
    Ok(key.try_into().ok().map(Signer))
}

/// Rejects a component that none of `signers` has signed. Without signers every component passes.
pub fn signed_by_one_of(component: &[u8], signers: &[Signer]) -> Result<(), InvalidComponent> {
    let signer = signer(component)?;
    match signer {
        _ if signers.is_empty() => Ok(()),
        Some(signer) if signers.contains(&signer) => Ok(()),
        Some(_) => Err(InvalidComponent::ForeignSigner),
        None => Err(InvalidComponent::NotSigned),
    }
}

fn message(component: &[u8]) -> Vec<u8> {
    [CONTEXT, component].concat()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    /// An empty component.
    const EMPTY: &[u8] = b"\0asm\x0d\0\x01\0";

    fn key() -> SigningKey {
        SigningKey(Ed25519KeyPair::from_pkcs8_maybe_unchecked(&SigningKey::generate().unwrap()).unwrap())
    }

    #[test]
    fn a_signature_names_its_signer_and_any_change_breaks_it() {
        let (one, other) = (key(), key());
        assert_eq!(signer(EMPTY), Ok(None));
        let mut component = EMPTY.to_vec();
        sections::append(&mut component, "practice-sync:manifest", b"{}");
        let signed = one.sign(&component).unwrap();
        assert_eq!(signer(&signed), Ok(Some(one.signer())));
        assert_eq!(signer(&other.sign(&signed).unwrap()), Ok(Some(other.signer())), "the last one counts, alone");
        assert_eq!(sections::without(&signed, SIGNATURE_SECTION).unwrap(), component);
        // Each byte of the signature's section, and each of the manifest's content.
        for at in component.len() - 2..signed.len() {
            let mut bent = signed.clone();
            bent[at] ^= 1;
            assert_ne!(signer(&bent), Ok(Some(one.signer())), "byte {at}");
        }
        // Bytes after the signature are not signed.
        let mut more = signed.clone();
        sections::append(&mut more, "practice-sync:manifest", b"{}");
        assert_eq!(signer(&more), Err(InvalidComponent::Signature));
    }

    #[test]
    fn with_trusted_signers_only_their_components_pass() {
        let (one, other) = (key(), key());
        let signed = one.sign(EMPTY).unwrap();
        assert_eq!(signed_by_one_of(EMPTY, &[]), Ok(()));
        assert_eq!(signed_by_one_of(&signed, &[]), Ok(()));
        assert_eq!(signed_by_one_of(&signed, &[other.signer(), one.signer()]), Ok(()));
        assert_eq!(signed_by_one_of(&signed, &[other.signer()]), Err(InvalidComponent::ForeignSigner));
        assert_eq!(signed_by_one_of(EMPTY, &[one.signer()]), Err(InvalidComponent::NotSigned));
    }

    /// Made with `openssl genpkey -algorithm ed25519`.
    #[test]
    fn keys_of_openssl_are_accepted() {
        let pem = b"-----BEGIN PRIVATE KEY-----\nMC4CAQAwBQYDK2VwBCIEINTuctv5E1hK1bbY8fdp+K06/nwoy/HU++CXqI9EdVhC\n-----END PRIVATE KEY-----\n";
        let key = SigningKey::from_pem(pem).unwrap();
        assert_eq!(signer(&key.sign(EMPTY).unwrap()), Ok(Some(key.signer())));
        assert_eq!(SigningKey::from_pem(b"psk_secret").err(), Some(KeyError::NotAKey));
    }
}
