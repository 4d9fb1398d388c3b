//! The keys of a store and their file. The newest key seals; all keys open values.
//!
//! A file with a single key contains its 64 hex digits; this is the first key of a store. With several keys,
//! each line is `ID KEY`, the newest key last. An id is derived from its key, except for the first key, which
//! predates ids.

use std::{fmt, fs, path::Path};

use super::{KeyId, StoreError};
use crate::files;

/// A key. Without it, values sealed with it are lost.
#[derive(Clone)]
pub struct StoreKey(pub(crate) [u8; 32]);

impl StoreKey {
    pub fn new(key: [u8; 32]) -> Self {
        Self(key)
    }

    /// Parses 64 hex digits.
    pub fn from_hex(text: &str) -> Option<Self> {
        let mut key = [0; 32];
        hex::decode_to_slice(text.trim(), &mut key).ok()?;
        Some(Self(key))
    }

    fn draw() -> Result<Self, getrandom::Error> {
        let mut key = [0; 32];
        getrandom::fill(&mut key)?;
        Ok(Self(key))
    }
}

impl fmt::Debug for StoreKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StoreKey(redacted)")
    }
}

/// All keys of a store, at least one.
#[derive(Clone, Debug)]
pub struct StoreKeys {
    older: Vec<(KeyId, StoreKey)>,
    newest: (KeyId, StoreKey),
}

/// The key with which a store is created.
impl From<StoreKey> for StoreKeys {
    fn from(key: StoreKey) -> Self {
        Self { older: Vec::new(), newest: (KeyId::FIRST, key) }
    }
}

impl StoreKeys {
    /// Reads the key file. If none exists, generates a key and writes it to a file readable by its owner only.
    /// Two processes that create the file concurrently get the same key.
    pub fn load_or_create(path: &Path) -> Result<Self, StoreError> {
        match path.try_exists() {
            Ok(false) => Self::create(path),
            _ => Self::load(path),
        }
    }

    pub fn load(path: &Path) -> Result<Self, StoreError> {
        let text = fs::read_to_string(path).map_err(|error| key_file(path, error))?;
        warn_when_others_can_read(path);
        Self::parse(&text).map_err(|why| key_file(path, why))
    }

    fn create(path: &Path) -> Result<Self, StoreError> {
        let keys = Self::from(StoreKey::draw().map_err(|error| key_file(path, error))?);
        match files::write_new(path, &keys.text()).map_err(|error| key_file(path, error))? {
            true => Ok(keys),
            false => Self::load(path),
        }
    }

    /// Replaces the keys in the file, durably.
    pub fn save(&self, path: &Path) -> Result<(), StoreError> {
        files::replace(path, &self.text()).map_err(|error| key_file(path, error))
    }

    /// Returns these keys plus a new one, which is the newest.
    pub fn and_a_new_one(&self) -> Result<Self, StoreError> {
        let mut key = StoreKey::draw();
        while key.as_ref().is_ok_and(|key| self.has(KeyId::from_key(&key.0)) || KeyId::from_key(&key.0) == KeyId::FIRST)
        {
            key = StoreKey::draw();
        }
        let key = key.map_err(std::io::Error::other).map_err(StoreError::io("the system's random numbers"))?;
        let older = self.all().map(|(id, key)| (*id, key.clone())).collect();
        Ok(Self { older, newest: (KeyId::from_key(&key.0), key) })
    }

    /// Returns these keys without the given one, which must not be the newest.
    pub fn without(&self, id: KeyId) -> Self {
        let older = self.older.iter().filter(|(other, _)| *other != id).cloned().collect();
        Self { older, newest: self.newest.clone() }
    }

    /// Returns the id of the key that seals new values.
    pub fn newest(&self) -> KeyId {
        self.newest.0
    }

    /// Returns the ids of all keys, the newest last.
    pub fn ids(&self) -> impl Iterator<Item = KeyId> {
        self.all().map(|(id, _)| *id)
    }

    pub fn has(&self, id: KeyId) -> bool {
        self.ids().any(|known| known == id)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &(KeyId, StoreKey)> {
        self.older.iter().chain([&self.newest])
    }

    fn text(&self) -> String {
        let lines = self.all().map(|(id, key)| match (*id, self.older.is_empty()) {
            (KeyId::FIRST, true) => hex::encode(key.0),
            (id, _) => format!("{id} {}", hex::encode(key.0)),
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    fn parse(text: &str) -> Result<Self, String> {
        let mut found: Vec<(KeyId, StoreKey)> = Vec::new();
        for (number, line) in (1..).zip(text.lines()).filter(|(_, line)| !line.trim().is_empty()) {
            let (id, key) = line.trim().split_once(' ').unwrap_or(("00000000", line));
            let wrong = || format!("line {number} does not hold 64 hex digits, after the id of the key if it has one");
            let (id, key): (KeyId, _) = id.parse().ok().zip(StoreKey::from_hex(key)).ok_or_else(wrong)?;
            if id != KeyId::FIRST && id != KeyId::from_key(&key.0) {
                return Err(format!("the key in line {number} is not the key {id}: put the file back from its backup"));
            }
            if found.iter().any(|(known, _)| *known == id) {
                return Err(format!("the key {id} is there twice"));
            }
            found.push((id, key));
        }
        let newest = found.pop().ok_or("it does not hold 64 hex digits: put it back from its backup")?;
        Ok(Self { older: found, newest })
    }
}

fn key_file(path: &Path, why: impl ToString) -> StoreError {
    StoreError::KeyFile { path: path.display().to_string(), why: why.to_string() }
}

fn warn_when_others_can_read(path: &Path) {
    #[cfg(unix)]
    if let Ok(meta) = fs::metadata(path)
        && std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o077 != 0
    {
        tracing::warn!(path = %path.display(), "other users can read the key file of the store");
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_key_file_is_created_once_and_readable_by_its_owner_only() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store.key");
        let made = StoreKeys::load_or_create(&path).unwrap();
        let read = StoreKeys::load_or_create(&path).unwrap();
        assert_eq!(made.newest.1.0, read.newest.1.0);
        assert_eq!(
            fs::read_to_string(&path).unwrap().trim().len(),
            64,
            "a single key has the format of earlier versions"
        );
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).unwrap().permissions()) & 0o777, 0o600);
        fs::write(&path, "short").unwrap();
        assert!(StoreKeys::load_or_create(&path).is_err_and(|error| error.to_string().contains("64 hex digits")));
        assert!(!format!("{made:?}").contains(&hex::encode(made.newest.1.0)));
    }

    #[test]
    fn keys_are_added_and_removed_and_the_last_one_seals() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("store.key");
        let first = StoreKeys::load_or_create(&path).unwrap();
        let three = first.and_a_new_one().unwrap().and_a_new_one().unwrap();
        three.save(&path).unwrap();
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&fs::metadata(&path).unwrap().permissions()) & 0o777, 0o600);
        let read = StoreKeys::load(&path).unwrap();
        let ids: Vec<KeyId> = read.ids().collect();
        assert_eq!(ids, three.ids().collect::<Vec<_>>());
        assert_eq!((ids.len(), ids[0], read.newest()), (3, KeyId::FIRST, ids[2]));
        assert_eq!(ids[1].to_string().parse(), Ok(ids[1]));
        let left = read.without(KeyId::FIRST).without(ids[1]);
        left.save(&path).unwrap();
        assert_eq!(StoreKeys::load(&path).unwrap().ids().collect::<Vec<_>>(), [ids[2]]);
    }

    /// Errors describe the invalid line for manual repair, but never contain the key.
    #[test]
    fn a_line_whose_id_does_not_match_its_key_is_refused() {
        let two = StoreKeys::from(StoreKey::new([7; 32])).and_a_new_one().unwrap();
        let (text, id) = (two.text(), two.newest().to_string());
        let key = text.rsplit(' ').next().unwrap();
        let other = format!("{}{}", if key.starts_with('0') { '1' } else { '0' }, &key[1..]);
        for (bent, expected) in [
            (text.replace(key, &other), id.as_str()),
            (text.replace(key, &key[..60]), "line 2"),
            (text.replace(&id, "12"), "line 2"),
            (format!("{text}\n{text}"), "twice"),
            (String::new(), "64 hex digits"),
        ] {
            let refused = StoreKeys::parse(&bent).unwrap_err();
            assert!(refused.contains(expected) && !refused.contains(key), "{refused}");
        }
        assert!(StoreKeys::parse(&format!("{text}\n\n")).is_ok());
    }
}
