//! Entries of the index: byte strings in sort order, so that the records with a term, a name prefix or a time
//! range are adjacent.
//!
//! ```text
//! kind u8 │ field u8      │ 8 bytes of a number or of the digest of a text │ id u64
//! kind u8 │ name          │ up to 16 bytes of a word, 0                    │ id u64
//! kind u8 │ 0x80 + order  │ time i64                                       │ id u64
//! kind u8 │ 0xF0          │ id u64                                         │ time i64 of the last change
//! ```

use std::sync::LazyLock;

use location::time::Timestamp;
use records::{
    document::Document,
    index::{Field, OrderBy, Term, Value},
};
use sha2::{Digest, Sha256};

use crate::stream::{Entry, Stream};

/// Maximum size of an entry.
pub(crate) const MOST_BYTES: usize = 2 + WORD_BYTES + 1 + 8;
/// Maximum bytes of a word. A longer prefix finds all records that share these bytes; the caller checks them.
const WORD_BYTES: usize = 16;
const ORDERS: u8 = 0x80;
const CHANGED: u8 = 0xF0;
/// Mask of the sign bit. Signed numbers sort by value once the bit is flipped.
const SIGN: u64 = 1 << 63;

/// Returns the prefix of all entries with a term.
pub(crate) fn term(kind: u8, term: &Term) -> Entry {
    match (&term.value, term.word()) {
        (_, Some(word)) => [beginning(kind, word).as_slice(), &[0]].concat(),
        (Value::Number(number), None) => [&[kind, term.field as u8], &number.to_be_bytes()[..]].concat(),
        (Value::Text(text), None) => [&[kind, term.field as u8], &digest(text)[..]].concat(),
    }
}

/// Returns the prefix of all entries with a word that has this prefix.
pub(crate) fn beginning(kind: u8, start: &str) -> Entry {
    let end = (0..=start.len().min(WORD_BYTES)).rev().find(|end| start.is_char_boundary(*end)).unwrap_or(0);
    [&[kind, Field::Name as u8], &start.as_bytes()[..end]].concat()
}

/// Returns the entry up to the end of its word.
pub(crate) fn with_word(entry: &[u8]) -> &[u8] {
    &entry[..entry.len().saturating_sub(8)]
}

pub(crate) fn with_id(prefix: &[u8], id: u64) -> Entry {
    [prefix, &id.to_be_bytes()].concat()
}

/// Returns the smallest key after an entry.
pub(crate) fn beyond(mut entry: Entry) -> Entry {
    entry.push(0);
    entry
}

/// Returns the id in an entry of a term or an order.
pub(crate) fn id(entry: &[u8]) -> u64 {
    entry.last_chunk().map_or(0, |id| u64::from_be_bytes(*id))
}

pub(crate) fn order(kind: u8, order: OrderBy) -> Entry {
    vec![kind, ORDERS + order as u8]
}

/// Returns the entry of a record in an order.
pub(crate) fn place(kind: u8, order: OrderBy, at: Timestamp, id: u64) -> Entry {
    [&[kind, ORDERS + order as u8], &time(at)[..], &id.to_be_bytes()].concat()
}

/// Returns the time and the id of an order entry.
pub(crate) fn parse_place(entry: &[u8]) -> Option<(Timestamp, u64)> {
    let (at, rest) = entry.get(2..)?.split_first_chunk()?;
    Some((parse_time(*at), u64::from_be_bytes(rest.try_into().ok()?)))
}

/// Returns the prefix of the times of change in the order of ids.
pub(crate) fn changed(kind: u8) -> Entry {
    vec![kind, CHANGED]
}

pub(crate) fn changed_at(kind: u8, id: u64, at: Timestamp) -> Entry {
    [&[kind, CHANGED], &id.to_be_bytes()[..], &time(at)].concat()
}

/// Returns the id and the time of the last change.
pub(crate) fn parse_changed(entry: &[u8]) -> Option<(u64, Timestamp)> {
    let (id, rest) = entry.get(2..)?.split_first_chunk()?;
    Some((u64::from_be_bytes(*id), parse_time(rest.try_into().ok()?)))
}

fn time(at: Timestamp) -> [u8; 8] {
    (at.0.cast_unsigned() ^ SIGN).to_be_bytes()
}

fn parse_time(bytes: [u8; 8]) -> Timestamp {
    Timestamp((u64::from_be_bytes(bytes) ^ SIGN).cast_signed())
}

/// Returns the digest of a text that is compared as a whole. Callers resolve collisions by reading the
/// records.
fn digest(text: &str) -> [u8; 8] {
    static EMPTY: LazyLock<Sha256> = LazyLock::new(Sha256::new);
    let full = EMPTY.clone().chain_update(text.as_bytes()).finalize();
    full.first_chunk().copied().unwrap_or_default()
}

/// All index entries of one state of a record.
pub struct IndexEntries {
    /// The stream of the owner in whose lists the record is.
    pub stream: Option<Stream>,
    /// Sorted, without duplicates.
    pub entries: Vec<Entry>,
    pub deleted: bool,
}

impl IndexEntries {
    pub fn from_record<T: Document>(record: &T) -> IndexEntries {
        let (kind, id) = (T::BYTE, record.id());
        let mut entries: Vec<Entry> = record.terms().iter().map(|it| with_id(&term(kind, it), id)).collect();
        for (order, at) in record.sort_keys() {
            entries.push(place(kind, order, at, id));
            if order == OrderBy::Updated && T::LISTED_BY_ID {
                entries.push(changed_at(kind, id, at));
            }
        }
        entries.sort_unstable();
        entries.dedup();
        IndexEntries { stream: Stream::for_documents::<T>(record.owner()), entries, deleted: record.deleted() }
    }

    /// Returns the entries to remove and to add when this state follows `before`, a state in the same stream.
    pub fn since(&self, before: Option<&IndexEntries>) -> (Vec<Entry>, Vec<Entry>) {
        let old = before.map_or(&[][..], |before| &before.entries);
        let missing = |of: &[Entry], from: &[Entry]| -> Vec<Entry> {
            of.iter().filter(|entry| from.binary_search(entry).is_err()).cloned().collect()
        };
        (missing(old, &self.entries), missing(&self.entries, old))
    }
}
