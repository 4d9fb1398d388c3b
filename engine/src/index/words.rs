//! Names cut into words, and the dictionary that finds the words with a given beginning. Keys on disk are not encrypted, so they hold
//! keyed digests only; the words themselves are values.

use unicode_normalization::{UnicodeNormalization, char::is_combining_mark};

use super::{Field, Writes, digest};
use crate::{
    secrets::Secrets,
    store::{Direction, Key, KeyRange, Store, StoreError, keys},
};

/// Words of one record, and letters of a word: more are not looked at.
pub const MOST: usize = 24;
const LETTERS: usize = 64;
/// A word is listed under its beginnings up to this length.
const BEGINNING: usize = 6;
/// Words read to find those with a beginning longer than that.
const READ_AT_MOST: usize = 2_000;
/// A phone number has at least this many digits; of longer ones the last ten count, so that the country code makes no difference.
const FEWEST_DIGITS: usize = 7;
const DIGITS: usize = 10;

/// The words of a text: lower case, without accents, cut at everything that is neither letter nor digit.
pub fn of(text: &str) -> Vec<String> {
    let plain: String = text.nfkd().filter(|letter| !is_combining_mark(*letter)).flat_map(char::to_lowercase).collect();
    let words = plain.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.take(MOST).map(|word| word.chars().take(LETTERS).collect()).collect()
}

/// Whether each word of `asked` begins one of the name's words.
pub fn begin(name: &str, asked: &str) -> bool {
    let words = of(name);
    of(asked).iter().all(|asked| words.iter().any(|word| word.starts_with(asked.as_str())))
}

/// The digits by which phone numbers are compared; none when it has too few of them.
pub fn phone(number: &str) -> Option<String> {
    let digits: Vec<char> = number.chars().filter(char::is_ascii_digit).collect();
    let from = digits.len().saturating_sub(DIGITS);
    (digits.len() >= FEWEST_DIGITS).then(|| digits[from..].iter().collect())
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_compared_by_their_plain_words() {
        assert_eq!(of("  Zoë-Marie d'Arc "), ["zoe", "marie", "d", "arc"]);
        assert_eq!(of("ÅNGSTRÖM"), ["angstrom"]);
        assert_eq!(of("Ａｄａ ﬁ"), ["ada", "fi"]);
        assert_eq!(of("李 小龍"), ["李", "小龍"]);
        assert!(of(" .-' ").is_empty());
        assert!(begin("Zoë Müller", "mull zo"));
        assert!(!begin("Zoë Müller", "mull x"));
        assert!(begin("Zoë Müller", ""));
    }

    #[test]
    fn phones_compare_by_their_digits() {
        assert_eq!(phone("+1 (555) 010-2030"), phone("5550102030"));
        assert_ne!(phone("5550102030"), phone("5550102031"));
        assert_eq!(phone("12-34"), None);
    }
}
