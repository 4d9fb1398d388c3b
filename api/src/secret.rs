//! The one secret of the HTTP edge, and the keys derived from it for tokens, cursors and slot tokens.

use std::{
    fs,
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

const FILE: &str = "token.secret";

#[derive(Clone)]
pub struct Secret([u8; 32]);

impl Secret {
    pub fn from_bytes(bytes: [u8; 32]) -> Secret {
        Secret(bytes)
    }

    /// From 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Secret> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text.trim(), &mut bytes).ok()?;
        Some(Secret(bytes))
    }

    /// The secret of a data directory, made at the first start so that tokens outlive a restart.
    pub fn of_directory(dir: &Path) -> io::Result<Secret> {
        let path = dir.join(FILE);
        match fs::read_to_string(&path) {
            Ok(text) => Secret::parse(&text).ok_or_else(|| invalid(&path)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Secret::create(&path),
            Err(error) => Err(error),
        }
    }

    fn create(path: &Path) -> io::Result<Secret> {
        let secret = Secret(random());
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
        writeln!(file, "{}", hex::encode(secret.0))?;
        file.sync_all()?;
        Ok(secret)
    }

    /// A key for one purpose; keys of different purposes tell nothing about each other.
    pub fn key(&self, purpose: &str) -> Key {
        Key(mac(&self.0, &[purpose.as_bytes()]))
    }
}

/// Authenticates what is handed to clients and comes back.
#[derive(Clone)]
pub struct Key([u8; 32]);

impl Key {
    pub fn tag(&self, parts: &[&[u8]]) -> [u8; 32] {
        mac(&self.0, parts)
    }

    /// In constant time. `tag` may be the first bytes only.
    pub fn verifies(&self, parts: &[&[u8]], tag: &[u8]) -> bool {
        hmac(&self.0, parts).verify_truncated_left(tag).is_ok()
    }
}

fn hmac(key: &[u8; 32], parts: &[&[u8]]) -> Hmac<Sha256> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    parts.iter().for_each(|part| mac.update(part));
    mac
}

fn mac(key: &[u8; 32], parts: &[&[u8]]) -> [u8; 32] {
    hmac(key, parts).finalize().into_bytes().into()
}

pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system gives random bytes");
    bytes
}

fn invalid(path: &Path) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("{} does not hold 64 hexadecimal digits", path.display()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_directory_keeps_its_secret() {
        let dir = tempfile::tempdir().unwrap();
        let first = Secret::of_directory(dir.path()).unwrap();
        assert_eq!(first.0, Secret::of_directory(dir.path()).unwrap().0);
        fs::write(dir.path().join(FILE), "short").unwrap();
        assert_eq!(Secret::of_directory(dir.path()).err().unwrap().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn keys_of_different_purposes_differ() {
        let secret = Secret::from_bytes([7; 32]);
        let tag = secret.key("a").tag(&[b"x"]);
        assert!(secret.key("a").verifies(&[b"x"], &tag[..16]));
        assert!(!secret.key("b").verifies(&[b"x"], &tag[..16]));
        assert!(!secret.key("a").verifies(&[b"y"], &tag[..16]));
        assert!(!secret.key("a").verifies(&[b"x"], &[]));
    }
}
