//! The secret of the HTTP edge, and the keys derived from it for tokens, cursors and slot tokens.

use std::{fs, io, path::Path};

use engine::store::files;
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

pub const FILE: &str = "token.secret";

#[derive(Clone)]
pub struct Secret([u8; 32]);

impl Secret {
    pub fn from_bytes(bytes: [u8; 32]) -> Secret {
        Secret(bytes)
    }

    /// Parses 64 hexadecimal digits.
    pub fn parse(text: &str) -> Option<Secret> {
        let mut bytes = [0; 32];
        hex::decode_to_slice(text.trim(), &mut bytes).ok()?;
        Some(Secret(bytes))
    }

    /// Parses a value of the configuration.
    pub fn parse_configured(text: &str) -> Result<Secret, String> {
        Secret::parse(text).ok_or_else(|| "must hold 64 hexadecimal digits".to_owned())
    }

    /// Reads the secret of a data directory, or creates it at the first start. Tokens survive a restart.
    pub fn load_or_create_in(dir: &Path) -> io::Result<Secret> {
        Secret::load_or_create(&dir.join(FILE))
    }

    /// Reads the secret from a file, or creates the file.
    pub fn load_or_create(path: &Path) -> io::Result<Secret> {
        let text = match fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Secret::create(path),
            text => text?,
        };
        match text.trim().split_once(' ') {
            Some((digits, check)) => {
                Secret::parse(digits).filter(|secret| secret.check() == check).ok_or_else(|| damaged(path))
            }
            // The format before the checksum.
            None => {
                let secret = Secret::parse(&text).ok_or_else(|| damaged(path))?;
                files::replace(path, &secret.written())?;
                Ok(secret)
            }
        }
    }

    fn create(path: &Path) -> io::Result<Secret> {
        let secret = Secret(random());
        match files::write_new(path, &secret.written())? {
            true => Ok(secret),
            // Another process created the file.
            false => Secret::load_or_create(path),
        }
    }

    /// Returns the content of the file. The checksum detects corruption, which would silently invalidate every token.
    fn written(&self) -> String {
        format!("{} {}", hex::encode(self.0), self.check())
    }

    fn check(&self) -> String {
        hex::encode(&self.key("checksum of its file").tag(&[])[..4])
    }

    /// Returns an id of the server for holders of its data directory. It does not reveal the secret.
    pub fn instance(&self) -> String {
        hex::encode(&self.key("instance").tag(&[])[..8])
    }

    /// Reads the secret without creating it. Returns `None` if there is no file.
    pub fn peek(dir: &Path) -> io::Result<Option<Secret>> {
        let path = dir.join(FILE);
        match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            text => text?.split_whitespace().next().and_then(Secret::parse).map(Some).ok_or_else(|| damaged(&path)),
        }
    }

    /// Derives a key for one purpose. Keys of different purposes are independent.
    pub fn key(&self, purpose: &str) -> MacKey {
        MacKey(keyed(&self.derive(purpose)))
    }

    /// Derives the bytes of a key for one purpose, such as a cipher.
    pub fn derive(&self, purpose: &str) -> [u8; 32] {
        mac(keyed(&self.0), &[purpose.as_bytes()])
    }
}

/// Authenticates data that clients receive and send back.
#[derive(Clone)]
pub struct MacKey(Hmac<Sha256>);

impl MacKey {
    pub fn tag(&self, parts: &[&[u8]]) -> [u8; 32] {
        mac(self.0.clone(), parts)
    }

    /// Verifies in constant time. `tag` may be truncated.
    pub fn verifies(&self, parts: &[&[u8]], tag: &[u8]) -> bool {
        fed(self.0.clone(), parts).verify_truncated_left(tag).is_ok()
    }
}

/// Returns the HMAC state for a key. Its reuse saves half of the work for a short tag.
fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::new_from_slice(key).expect("HMAC takes keys of any length")
}

fn fed(mut mac: Hmac<Sha256>, parts: &[&[u8]]) -> Hmac<Sha256> {
    parts.iter().for_each(|part| mac.update(part));
    mac
}

fn mac(keyed: Hmac<Sha256>, parts: &[&[u8]]) -> [u8; 32] {
    fed(keyed, parts).finalize().into_bytes().into()
}

/// Returns `true` if a caller sent the expected secret. Compares in constant time.
pub fn is_secret(expected: &[u8], sent: &[u8]) -> bool {
    let key = keyed(&[0; 32]);
    let expected = mac(key.clone(), &[expected]);
    fed(key, &[sent]).verify_slice(&expected).is_ok()
}

/// Returns the HMAC-SHA256 of a message under a secret that another system has, too.
pub fn sign(secret: &[u8], message: &[u8]) -> [u8; 32] {
    mac(keyed(secret), &[message])
}

/// Returns `true` if a signature is that of `sign`. Compares in constant time.
pub fn is_signature(secret: &[u8], message: &[u8], signature: &[u8]) -> bool {
    fed(keyed(secret), &[message]).verify_slice(signature).is_ok()
}

/// Joins parts with length prefixes, so that different lists never yield the same bytes.
pub(crate) fn joined<'a>(parts: impl IntoIterator<Item = &'a [u8]>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in parts {
        bytes.extend((part.len() as u64).to_be_bytes());
        bytes.extend(part);
    }
    bytes
}

pub fn random<const N: usize>() -> [u8; N] {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).expect("the operating system provides random bytes");
    bytes
}

fn damaged(path: &Path) -> io::Error {
    let what = "is damaged: put it back from a backup, or remove it, which voids every token handed out so far";
    io::Error::new(io::ErrorKind::InvalidData, format!("{} {what}", path.display()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_directory_keeps_its_secret() {
        let dir = tempfile::tempdir().unwrap();
        let first = Secret::load_or_create_in(dir.path()).unwrap();
        assert_eq!(first.0, Secret::load_or_create_in(dir.path()).unwrap().0);
        fs::write(dir.path().join(FILE), "short").unwrap();
        assert_eq!(Secret::load_or_create_in(dir.path()).err().unwrap().kind(), io::ErrorKind::InvalidData);
    }

    #[test]
    fn a_damaged_secret_is_reported_and_never_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        let made = Secret::load_or_create_in(dir.path()).unwrap();
        let written = fs::read(&path).unwrap();
        for at in 0..written.len() - 1 {
            let mut bent = written.clone();
            bent[at] = if bent[at] == b'0' { b'1' } else { b'0' };
            fs::write(&path, &bent).unwrap();
            assert!(
                Secret::load_or_create_in(dir.path()).is_err_and(|error| error.to_string().contains("is damaged")),
                "{at}"
            );
            assert_eq!(fs::read(&path).unwrap(), bent, "nothing is written in its place");
        }
        for cut in 1..64 {
            fs::write(&path, &written[..cut]).unwrap();
            assert!(Secret::load_or_create_in(dir.path()).is_err(), "{cut}");
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        // A file without a checksum is upgraded.
        fs::write(&path, &written[..64]).unwrap();
        assert_eq!(Secret::load_or_create_in(dir.path()).unwrap().0, made.0);
        assert_eq!(fs::read(&path).unwrap(), written);
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
