//! The dictionary that finds the words with a given beginning. Keys on disk are not encrypted, so they hold keyed digests only; the words
//! themselves are values.

use records::index::Field;
use store::{Direction, Key, KeyRange, Store, StoreError, keys, secrets::Secrets};

use super::terms::{Writes, digest};

/// A word is listed under its beginnings up to this length.
const BEGINNING: usize = 6;
/// Words read to find those with a beginning longer than that.
const READ_AT_MOST: usize = 2_000;

/// Enters a word unless it is known. Words stay: there are only so many names.
pub(super) fn learn(
    store: &dyn Store,
    secrets: &Secrets,
    (scope, kind): (u32, u8),
    word: &str,
    writes: &mut Writes,
) -> Result<(), StoreError> {
    let itself = digest(secrets, Field::Name, word);
    let entry = |letters: usize| -> Key {
        let beginning: String = word.chars().take(letters).collect();
        keys::word(scope, kind, Field::Name as u8, &beginning_digest(secrets, &beginning), &itself)
    };
    let longest = word.chars().count().min(BEGINNING);
    // All entries of a word are written together: one stands for them all.
    if writes.contains_key(&entry(longest)) || store.get(&entry(longest))?.is_some() {
        return Ok(());
    }
    for letters in 1..=longest {
        writes.insert(entry(letters), Some(word.as_bytes().to_vec()));
    }
    Ok(())
}

/// The records of each word that begins so; none when there are more than `most` such words.
pub(crate) fn beginning(
    store: &dyn Store,
    secrets: &Secrets,
    (scope, kind): (u32, u8),
    start: &str,
    most: usize,
) -> Result<Option<Vec<KeyRange>>, StoreError> {
    let short: String = start.chars().take(BEGINNING).collect();
    let range = keys::words(scope, kind, Field::Name as u8, &beginning_digest(secrets, &short));
    let exact = short.len() == start.len();
    let limit = if exact { most + 1 } else { READ_AT_MOST };
    let mut found = store.scan(range, Direction::Forward, limit)?;
    let all = found.len() < limit;
    found.retain(|(_, word)| word.starts_with(start.as_bytes()));
    if !all || found.len() > most {
        return Ok(None);
    }
    let records = |(key, _): (Key, Vec<u8>)| {
        let word = key.last_chunk::<16>().ok_or_else(|| StoreError::damaged(&key, "a key that is not a word"))?;
        Ok(keys::indexed(scope, kind, Field::Name as u8, word))
    };
    found.into_iter().map(records).collect::<Result<_, _>>().map(Some)
}

fn beginning_digest(secrets: &Secrets, beginning: &str) -> [u8; 16] {
    let full = secrets.digest(&[b"beginning", beginning.as_bytes()]);
    let mut short = [0; 16];
    short.copy_from_slice(&full[..16]);
    short
}
